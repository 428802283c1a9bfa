#include "gpu/sum_job.h"

#include <algorithm>

#include "gpu/tiles/margin.h"

namespace quiver::gpu {
namespace {

/// Rows with the sum of the last one that there is room for.
constexpr std::uint64_t kRoomForEqualSums = 1024;

/// Numbers of runs that a job reads: a second of a device that reads a fortieth of what an H200
/// should.
constexpr std::uint64_t kMaxRead = 20'000'000'000;

/// Postings, and as many numbers as the head of a run takes the time of.
std::uint64_t numbers_read(const ImpactRuns& runs, const SumQuery& query) {
  constexpr std::uint64_t kNumbersOfHead = 64;
  return query.n_postings + kNumbersOfHead * query.terms.size() * runs.n_ranges();
}

struct SumPlaces {
  qv_sum_term* terms;
  qv_sum_query* queries;
  std::uint64_t* masks;
  std::uint32_t* rows;
  std::uint32_t* sums;
  std::uint32_t* n_found;
};

SumPlaces sum_places(Pieces& pieces, std::uint64_t n, std::uint64_t n_terms, std::uint64_t n_words,
                     std::uint64_t capacity) {
  return {pieces.take<qv_sum_term>(n_terms),        pieces.take<qv_sum_query>(n),
          pieces.take<std::uint64_t>(n_words),      pieces.take<std::uint32_t>(n * capacity),
          pieces.take<std::uint32_t>(n * capacity), pieces.take<std::uint32_t>(n)};
}

}  // namespace

std::size_t SumJob::n_together(const ImpactRuns& runs, std::span<const SumQuery> queries,
                               std::span<const std::size_t> numbers) {
  constexpr std::uint64_t kMaxFound = 4 << 20;
  std::uint64_t most = 0;
  for (const std::size_t i : numbers) most = std::max(most, queries[i].k);
  const std::uint64_t room = tiles::room(static_cast<unsigned>(most));
  const auto n_most = std::clamp<std::uint64_t>(kMaxFound / room, 1, kMaxQueries);
  return n_within(numbers.first(std::min<std::size_t>(n_most, numbers.size())), kMaxRead,
                  [&](std::size_t i) { return numbers_read(runs, queries[i]); });
}

bool SumJob::is_too_large(const ImpactRuns& runs, const SumQuery& query) {
  return numbers_read(runs, query) > kMaxRead;
}

bool SumJob::write(Lane& lane, const Part& part) {
  const std::uint64_t n = numbers_.size();
  std::uint64_t most = 0;
  std::uint64_t n_terms = 0;
  const JobMasks masks(queries_, numbers_, runs_.n_rows);
  for (const std::size_t i : numbers_) {
    most = std::max(most, queries_[i].k);
    n_terms += queries_[i].terms.size();
  }
  const std::uint64_t capacity = most + kRoomForEqualSums;
  Pieces size(nullptr);
  sum_places(size, n, n_terms, masks.n_words(), capacity);
  std::byte* const memory = lane.memory(size.used());
  if (memory == nullptr) return false;
  Pieces pieces(memory);
  const SumPlaces at = sum_places(pieces, n, n_terms, masks.n_words(), capacity);
  std::uint32_t term = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const SumQuery& query = queries_[numbers_[i]];
    const auto n_own = static_cast<std::uint32_t>(query.terms.size());
    std::ranges::copy(query.terms, at.terms + term);
    at.queries[i] = {term, n_own, static_cast<std::uint32_t>(query.k), masks.of_queries()[i]};
    term += n_own;
  }
  job_ = {.size = sizeof job_,
          .n_queries = static_cast<std::uint32_t>(n),
          .part = part.handle(),
          .terms = at.terms,
          .queries = at.queries,
          .masks = masks.write(at.masks),
          .n_terms = term,
          .n_rows = runs_.n_rows,
          .capacity = static_cast<std::uint32_t>(capacity),
          .rows = at.rows,
          .sums = at.sums,
          .n_found = at.n_found};
  return true;
}

std::size_t SumJob::read(SummedRows& answers) const {
  std::size_t n_certain = 0;
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const std::uint32_t n = job_.n_found[i];
    if (n > job_.capacity) continue;  // QV_NOT_CERTIFIED
    std::vector<SummedRow> rows(n);
    for (std::uint32_t j = 0; j < n; ++j) {
      rows[j] = {job_.rows[i * job_.capacity + j], job_.sums[i * job_.capacity + j]};
    }
    std::ranges::sort(rows, {}, &SummedRow::row);
    // It must not make the caller read what is not there.
    if (!rows.empty() && rows.back().row >= runs_.n_rows) continue;
    answers[numbers_[i]] = std::move(rows);
    ++n_certain;
  }
  return n_certain;
}

}  // namespace quiver::gpu

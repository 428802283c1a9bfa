#include "gpu/list_job.h"

#include <algorithm>
#include <cstring>

namespace quiver::gpu {
namespace {

/// Estimates of one job, 8 bytes each with their positions.
constexpr std::uint64_t kMaxSlots = 8 << 20;
/// Codes as good as the last one that there is room for.
constexpr std::uint32_t kRoomForEqual = 1024;

struct ListPlaces {
  std::uint8_t* tables;
  qv_list_query* queries;
  qv_visit* visits;
  float* scores;
  std::uint32_t* positions;
  std::uint32_t* n_positions;
};

ListPlaces list_places(Pieces& pieces, std::uint64_t n, std::uint64_t table_bytes,
                       std::uint64_t n_visits, std::uint64_t capacity) {
  return {pieces.take<std::uint8_t>(n * table_bytes),
          pieces.take<qv_list_query>(n),
          pieces.take<qv_visit>(n_visits),
          pieces.take<float>(n * capacity),
          pieces.take<std::uint32_t>(n * capacity),
          pieces.take<std::uint32_t>(n)};
}

std::uint32_t blocks_of_list(const CodeLists& lists, std::uint32_t list) {
  return lists.first_blocks[list + 1] - lists.first_blocks[list];
}

/// Bytes of a query's tables.
std::uint64_t table_bytes_of(const CodeLists& lists) {
  return std::uint64_t{128} * lists.blocks.n_lines;
}

}  // namespace

std::uint64_t ListJob::blocks_of(const CodeLists& lists, const ListQuery& query) {
  std::uint64_t n = 0;
  for (const ListVisit& visit : query.visits) n += blocks_of_list(lists, visit.list);
  return n;
}

std::size_t ListJob::n_together(const CodeLists& lists, std::span<const ListQuery> queries,
                                std::span<const std::size_t> numbers) {
  return n_within(numbers, kMaxSlots,
                  [&](std::size_t i) { return blocks_of(lists, queries[i]) * CodeBlocks::kRows; });
}

bool ListJob::is_too_large(const CodeLists& lists, const ListQuery& query) {
  return blocks_of(lists, query) * CodeBlocks::kRows > kMaxSlots;
}

/// The visits, query by query, with the places of their estimates.
std::vector<qv_visit> ListJob::number_visits(qv_list_query* queries) {
  std::vector<qv_visit> visits;
  n_slots_ = 0;
  for (std::uint32_t i = 0; i < numbers_.size(); ++i) {
    const ListQuery& query = queries_[numbers_[i]];
    const CodeTables& tables = query.tables;
    // As CodeKernels::scan has it.
    const float offset =
        -0.5F * static_cast<float>((1U << lists_.blocks.n_bits) - 1) * tables.absolute;
    const std::uint32_t first_slot = n_slots_;
    for (const ListVisit& visit : query.visits) {
      const std::uint32_t n_blocks = blocks_of_list(lists_, visit.list);
      if (n_blocks == 0) continue;
      visits.push_back({i, visit.list, visit.base, n_slots_, 0});
      n_slots_ += n_blocks * CodeBlocks::kRows;
      most_blocks_ = std::max(most_blocks_, n_blocks);
    }
    queries[i] = {tables.step, offset, static_cast<std::uint32_t>(query.k), first_slot,
                  n_slots_ - first_slot};
  }
  return visits;
}

/// By list: a counting sort. Those of a list are together and numbered.
void ListJob::write_visits(std::span<const qv_visit> unsorted, qv_visit* visits) const {
  std::vector<std::uint32_t> ends(lists_.first_blocks.size(), 0);
  for (const qv_visit& visit : unsorted) ++ends[visit.list + 1];
  for (std::size_t list = 1; list < ends.size(); ++list) ends[list] += ends[list - 1];
  for (const qv_visit& visit : unsorted) {
    const std::uint32_t place = ends[visit.list]++;
    visits[place] = visit;
    const bool is_first = place == 0 || visits[place - 1].list != visit.list;
    visits[place].rank = is_first ? 0 : visits[place - 1].rank + 1;
  }
}

bool ListJob::write(Lane& lane, const Part& part) {
  const std::uint64_t n = numbers_.size();
  const std::uint64_t table_bytes = table_bytes_of(lists_);
  std::uint64_t most = 0;
  std::uint64_t n_visits = 0;
  for (const std::size_t i : numbers_) {
    most = std::max(most, queries_[i].k);
    n_visits += queries_[i].visits.size();
  }
  const std::uint64_t capacity = most + kRoomForEqual;
  Pieces size(nullptr);
  list_places(size, n, table_bytes, n_visits, capacity);
  std::byte* const memory = lane.memory(size.used());
  if (memory == nullptr) return false;
  Pieces pieces(memory);
  const ListPlaces at = list_places(pieces, n, table_bytes, n_visits, capacity);
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(at.tables + i * table_bytes, queries_[numbers_[i]].tables.tables, table_bytes);
  }
  const auto visits = number_visits(at.queries);
  write_visits(visits, at.visits);
  job_ = {.size = sizeof job_,
          .n_queries = static_cast<std::uint32_t>(n),
          .part = part.handle(),
          .tables = at.tables,
          .queries = at.queries,
          .visits = at.visits,
          .n_visits = static_cast<std::uint32_t>(visits.size()),
          .n_slots = n_slots_,
          .most_blocks = most_blocks_,
          .capacity = static_cast<std::uint32_t>(capacity),
          .scores = at.scores,
          .positions = at.positions,
          .n_positions = at.n_positions};
  return true;
}

std::size_t ListJob::read(BestCodes& answers) const {
  std::size_t n_certain = 0;
  const std::uint64_t n_positions = lists_.blocks.n * CodeBlocks::kRows;
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const std::uint32_t n = job_.n_positions[i];
    if (n > job_.capacity) continue;  // QV_NOT_CERTIFIED
    const std::span positions(job_.positions + i * job_.capacity, n);
    // They must not make the caller read what is not there.
    if (std::ranges::any_of(positions, [&](auto position) { return position >= n_positions; })) {
      continue;
    }
    const float* const scores = job_.scores + i * job_.capacity;
    answers[numbers_[i]] = {{scores, scores + n}, {positions.begin(), positions.end()}};
    ++n_certain;
  }
  return n_certain;
}

}  // namespace quiver::gpu

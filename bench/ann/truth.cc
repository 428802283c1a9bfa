#include "bench/ann/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "base/mutex.h"
#include "bench/ann/search.h"
#include "bench/ann/terms.h"
#include "dataset/formats/npy_header.h"
#include "dataset/vectors.h"
#include "index/exact/searcher.h"

namespace quiver::bench {
namespace {

/// Increase it when exact scores change their meaning: cached truth of older versions is ignored.
constexpr int kVersion = 1;
/// Queries per call: rows are read once for all of them.
constexpr std::size_t kBatch = 32;

/// Row numbers `[n_queries, k]`, -1 after the last match.
struct TruthIds {
  std::size_t k = 0;
  std::vector<std::int64_t> ids;
};

std::string cache_name(const index::FieldColumn& column, const QuerySet& queries,
                       const Allowed& allowed, std::size_t k) {
  const auto filter = allowed.is_filtered() ? fmt::format("-f{:016x}", allowed.digest()) : "";
  return fmt::format("truth{}-{:016x}-{:016x}{}-k{}.npy", kVersion, digest(column),
                     queries.digest(), filter, k);
}

bool in_range(const std::vector<std::int64_t>& ids, std::uint32_t n_rows) {
  return std::all_of(ids.begin(), ids.end(), [&](auto id) { return id >= -1 && id < n_rows; });
}

/// nullopt if the file is missing or does not have the expected shape and range.
std::optional<TruthIds> read_cached(const Directory& cache, const std::string& name,
                                    const index::FieldColumn& column, const QuerySet& queries,
                                    std::size_t k) {
  if (!cache.exists(name)) return std::nullopt;
  auto found = dataset::load_neighbours(cache.path() + "/" + name);
  if (!found || found->n_queries != queries.size() || found->k != k) return std::nullopt;
  if (!in_range(found->ids, column.n_rows)) return std::nullopt;
  return TruthIds{k, std::move(found->ids)};
}

Result<> write_cached(Directory& cache, const std::string& name, const TruthIds& truth) {
  const std::uint64_t shape[] = {truth.ids.size() / truth.k, truth.k};
  std::string bytes = dataset::npy_header_text(dataset::ValueType::kI64, shape);
  bytes += as_text(std::as_bytes(std::span(truth.ids)));
  return cache.replace_file(name, as_byte_span(bytes));
}

/// Keeps the first failure of several threads.
class FirstError {
 public:
  void keep(Result<> result) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (!result && status_) status_ = std::move(result);
  }
  [[nodiscard]] Result<> take() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return std::move(status_);
  }

 private:
  Mutex mutex_;
  Result<> status_ QV_GUARDED_BY(mutex_);
};

Result<TruthIds> search_all(const index::FieldColumn& column, const QuerySet& queries,
                            const Allowed& allowed, std::size_t k, Executor& executor) {
  const index::FlatSearcher searcher(column);
  const std::size_t per_call = allowed.is_filtered() ? 1 : kBatch;
  const SearchSetup setup{searcher, queries, allowed, {}, k};
  TruthIds truth{k, std::vector<std::int64_t>(queries.size() * k, -1)};
  FirstError error;
  executor.parallel_for((queries.size() + per_call - 1) / per_call, [&](std::size_t call) {
    std::vector<std::uint32_t> which;
    for (std::size_t q = call * per_call; q < std::min((call + 1) * per_call, queries.size());
         ++q) {
      which.push_back(static_cast<std::uint32_t>(q));
    }
    std::vector<std::vector<index::Hit>> hits(which.size());
    index::WorkCounters work;
    error.keep(search_call(setup, which, hits, work));
    for (std::size_t i = 0; i < which.size(); ++i) {
      std::transform(hits[i].begin(), hits[i].end(),
                     truth.ids.begin() + static_cast<std::ptrdiff_t>(which[i] * k),
                     [](const index::Hit& hit) { return hit.row; });
    }
  });
  QV_TRY(error.take());
  return truth;
}

/// `ids`: `[n_queries, width]` row numbers, -1 for none.
std::vector<Perfect> perfect_answers(const index::FieldColumn& column, const QuerySet& queries,
                                     std::span<const std::int64_t> ids, std::size_t width,
                                     std::size_t k) {
  std::vector<Perfect> perfect;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    std::vector<index::Hit> hits;
    for (const std::int64_t id : ids.subspan(q * width, width)) {
      if (id >= 0) hits.push_back({0, static_cast<std::uint32_t>(id)});
    }
    score_exactly(column, queries.prepare(q), hits);
    std::vector<float> scores;
    for (const auto& hit : hits) scores.push_back(hit.score);
    perfect.push_back(perfect_answer(scores, k));
    for (const auto& hit : hits) {
      perfect.back().term_size =
          std::max(perfect.back().term_size, size_of_terms(column, queries, q, hit.row));
    }
  }
  return perfect;
}

}  // namespace

void score_exactly(const index::FieldColumn& column, const index::PreparedQuery& query,
                   std::vector<index::Hit>& hits) {
  std::erase_if(hits, [&](index::Hit& hit) {
    if (hit.row >= column.n_rows) return true;
    const auto score = index::score_row(query, column, hit.row);
    hit.score = score.value_or(0);
    return !score;
  });
}

Result<Truth> exact_truth(const index::FieldColumn& column, const QuerySet& queries,
                          const Allowed& allowed, std::size_t k, Executor& executor,
                          Directory& cache) {
  const std::string name = cache_name(column, queries, allowed, k);
  auto ids = read_cached(cache, name, column, queries, k);
  Truth truth;
  truth.cached = ids.has_value();
  if (!ids) {
    const Stopwatch watch;
    QV_TRY(ids, search_all(column, queries, allowed, k, executor));
    truth.seconds = watch.seconds();
    QV_TRY(write_cached(cache, name, *ids));
  }
  truth.perfect = perfect_answers(column, queries, ids->ids, k, k);
  return truth;
}

Result<Truth> given_truth(const std::string& source, const index::FieldColumn& column,
                          const QuerySet& queries, std::size_t k) {
  QV_TRY(const auto given, dataset::load_neighbours(source));
  const std::size_t first = queries.first_row();
  if (given.k < k) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} ids a query, wanted at least {}", source, given.k, k));
  }
  if (given.n_queries < first + queries.size()) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} queries, wanted those of rows {} to {}", source,
                            given.n_queries, first, first + queries.size()));
  }
  if (!in_range(given.ids, column.n_rows)) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: ids beyond the {} rows of the base", source, column.n_rows));
  }
  const auto ids = std::span(given.ids).subspan(first * given.k, queries.size() * given.k);
  return Truth{perfect_answers(column, queries, ids, given.k, k), 0, false};
}

}  // namespace quiver::bench

#include "engine/query/joins/neighbour_search.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/mutex.h"
#include "engine/indexing/index_params.h"
#include "engine/indexing/indexes.h"
#include "engine/query/stages/segment_search.h"
#include "index/exact/searcher.h"

namespace quiver::engine {
namespace {

/// Rows that are searched together. They come from a few lists, which each batch reads once:
/// measured in docs/decisions/0064-joins.md.
constexpr std::size_t kRowsPerBatch = 64;

}  // namespace

Result<NeighbourSearch> NeighbourSearch::make(const SearchEnvironment& environment,
                                              const JoinRows& rows, const SearchParams& params) {
  NeighbourSearch search(environment, rows);
  if (is_exact_search(rows.schema().kind, params)) search.prefer_ = index::Prefer::kExact;
  const auto& schema = rows.schema();
  const auto& wanted = *wanted_type(schema, environment.indexes);
  QV_TRY(const auto of_wanted, index_params(wanted, schema, params));
  for (const JoinRows::Part& part : rows.parts()) {
    const auto& present = *part.segment->data->indexes[rows.field()].type;
    search.params_.push_back(params_for_present(present, wanted, of_wanted, schema, params));
  }
  return search;
}

Result<std::vector<Neighbours>> NeighbourSearch::find(std::span<const std::uint32_t> positions,
                                                      std::uint64_t k) const {
  std::vector<index::PreparedQuery> queries;
  queries.reserve(positions.size());
  for (const std::uint32_t position : positions) {
    QV_TRY(auto query, rows_.query(position));
    queries.push_back(std::move(query));
  }
  std::vector<const index::PreparedQuery*> borrowed;
  for (const auto& query : queries) borrowed.push_back(&query);
  std::vector<Neighbours> found(positions.size());
  for (std::size_t part = 0; part < rows_.parts().size(); ++part) {
    QV_TRY(search_part(part, borrowed, k + 1, found));
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::erase_if(found[i], [&](const Neighbour& hit) { return hit.position == positions[i]; });
    const auto better = [](const Neighbour& a, const Neighbour& b) { return is_better(a, b); };
    std::sort(found[i].begin(), found[i].end(), better);
    if (found[i].size() > k) found[i].resize(k);
  }
  return found;
}

Result<> NeighbourSearch::search_part(std::size_t part_number,
                                      std::span<const index::PreparedQuery* const> queries,
                                      std::uint64_t k, std::vector<Neighbours>& found) const {
  const JoinRows::Part& part = rows_.parts()[part_number];
  const SegmentData& data = *part.segment->data;
  std::vector<index::TopK> heaps;
  heaps.reserve(queries.size());
  std::vector<index::TopK*> heap_of_query;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const auto limit = std::min<std::uint64_t>(k, part.segment->n_live());
    heap_of_query.push_back(&heaps.emplace_back(limit, data.ids_unless_sorted()));
  }
  const index::SearchContext context{environment_.cancel, nullptr, prefer_};
  index::WorkCounters work;
  QV_TRY(data.searchers[rows_.field()]->search_batch(
      queries, params_[part_number], part.rows.view(), context, heap_of_query, work));
  for (std::size_t i = 0; i < heaps.size(); ++i) {
    for (const index::Hit& hit : heaps[i].take_sorted()) {
      found[i].push_back({part.positions[hit.row], hit.score});
    }
  }
  return {};
}

std::optional<float> NeighbourSearch::score(const index::PreparedQuery& query,
                                            std::uint32_t to) const {
  const auto [part, row] = rows_.place(to);
  return index::score_row(query, rows_.parts()[part].segment->data->fields[rows_.field()], row);
}

Result<> for_each_batch(const SearchEnvironment& environment, std::span<const std::uint32_t> order,
                        JoinProgress& progress,
                        const std::function<Result<>(std::span<const std::uint32_t>)>& work) {
  const std::size_t n_batches = (order.size() + kRowsPerBatch - 1) / kRowsPerBatch;
  Mutex mutex;
  Result<> outcome;
  std::atomic<bool> has_failed = false;
  const auto run = [&](std::size_t i) {
    if (has_failed) return;
    const auto first = i * kRowsPerBatch;
    const auto batch = order.subspan(first, std::min(kRowsPerBatch, order.size() - first));
    auto done = environment.cancel.check();
    if (done) done = work(batch);
    if (done) {
      progress.n_done += batch.size();
      return;
    }
    MutexLock lock(mutex);
    if (!has_failed.exchange(true)) outcome = std::move(done);
  };
  if (environment.executor != nullptr) {
    environment.executor->parallel_for(n_batches, run);
  } else {
    for (std::size_t i = 0; i < n_batches; ++i) run(i);
  }
  return outcome;
}

}  // namespace quiver::engine

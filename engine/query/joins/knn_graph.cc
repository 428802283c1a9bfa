#include "engine/query/joins/knn_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace quiver::engine {
namespace {

/// For each row those that have it as a neighbour.
struct ReverseGraph {
  std::vector<std::uint64_t> offsets;  ///< `[n_rows + 1]`
  std::vector<Neighbour> entries;      ///< with the score from there

  explicit ReverseGraph(const KnnGraph& graph) : offsets(graph.n_rows() + 1, 0) {
    const auto n = static_cast<std::uint32_t>(graph.n_rows());
    for (std::uint32_t row = 0; row < n; ++row) {
      for (const Neighbour& to : graph.of(row)) ++offsets[to.position + 1];
    }
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    entries.resize(offsets.back());
    auto next = offsets;
    for (std::uint32_t row = 0; row < n; ++row) {
      for (const Neighbour& to : graph.of(row)) entries[next[to.position]++] = {row, to.score};
    }
  }
  [[nodiscard]] std::span<const Neighbour> of(std::uint32_t row) const {
    return std::span(entries).subspan(offsets[row], offsets[row + 1] - offsets[row]);
  }
};

bool is_better_than(const Neighbour& a, const Neighbour& b) { return is_better(a, b); }

/// The rows of `reverse` that belong into the full list `own` and are not there. Their scores are
/// of the other direction: equal but for rounding.
Neighbours missing_neighbours(std::span<const Neighbour> own, std::span<const Neighbour> reverse,
                              std::uint64_t k) {
  Neighbours found;
  for (const Neighbour& from : reverse) {
    if (own.size() >= k && !is_better(from, own.back())) continue;
    const bool is_there = std::ranges::any_of(
        own, [&](const Neighbour& entry) { return entry.position == from.position; });
    if (!is_there) found.push_back(from);
  }
  std::sort(found.begin(), found.end(), is_better_than);
  if (found.size() > k) found.resize(k);
  return found;
}

Result<> mend_row(const NeighbourSearch& search, const ReverseGraph& reverse, std::uint32_t row,
                  KnnGraph& graph) {
  const auto own = graph.of(row);
  auto found = missing_neighbours(own, reverse.of(row), graph.k());
  if (found.empty()) return {};
  QV_TRY(const auto query, search.rows().query(row));
  for (Neighbour& one : found) {
    one.score = search.score(query, one.position).value_or(one.score);
  }
  found.insert(found.end(), own.begin(), own.end());
  std::sort(found.begin(), found.end(), is_better_than);
  if (found.size() > graph.k()) found.resize(graph.k());
  graph.set(row, found);
  return {};
}

}  // namespace

void KnnGraph::set(std::uint32_t row, std::span<const Neighbour> best) {
  std::copy(best.begin(), best.end(), entries_.begin() + static_cast<std::ptrdiff_t>(row * k_));
  n_entries_[row] = static_cast<std::uint32_t>(best.size());
}

Result<KnnGraph> knn_graph(const NeighbourSearch& search, std::uint64_t k, JoinProgress& progress) {
  const std::size_t n_rows = search.rows().size();
  k = std::min<std::uint64_t>(k, n_rows == 0 ? 0 : n_rows - 1);
  if (n_rows * k > kMaxJoinEntries) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} neighbours of {} points are too many: at most {} entries are kept, "
                            "ask for fewer neighbours or filter",
                            k, n_rows, kMaxJoinEntries));
  }
  KnnGraph graph(n_rows, k);
  if (k == 0) return graph;
  const auto order = search.rows().similar_first();
  progress.n_total += n_rows;
  using Batch = std::span<const std::uint32_t>;
  const auto search_from = [&](Batch batch) -> Result<> {
    QV_TRY(const auto found, search.find(batch, k));
    for (std::size_t i = 0; i < batch.size(); ++i) graph.set(batch[i], found[i]);
    return {};
  };
  QV_TRY(for_each_batch(search.environment(), order, progress, search_from));
  const ReverseGraph reverse(graph);
  const auto mend_all = [&](Batch batch) -> Result<> {
    for (const std::uint32_t row : batch) QV_TRY(mend_row(search, reverse, row, graph));
    return {};
  };
  JoinProgress uncounted;
  QV_TRY(for_each_batch(search.environment(), order, uncounted, mend_all));
  return graph;
}

}  // namespace quiver::engine

// Who is linked to whom, for vectors of a graph's nodes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model/joins.h"
#include "engine/query/joins/join_rows.h"
#include "engine/query/joins/knn_graph.h"

namespace quiver::engine {

struct NodeLink {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

/// The neighbours of each node, either way, each once. Immutable; any thread. Memory: 8 bytes a
/// link and a node.
class NodeLinks {
 public:
  /// Nodes are below `n_nodes`. Links of a node with itself are left out.
  NodeLinks(std::size_t n_nodes, std::span<const NodeLink> links)
      : NodeLinks(n_nodes, [links](auto&& visit) {
          for (const auto& [from, to] : links) visit(from, to);
        }) {}
  /// `for_each_link(visit)` calls `visit(from, to)` for each link; it is called twice.
  template <class ForEachLink>
  requires std::invocable<ForEachLink, void (*)(std::uint32_t, std::uint32_t)> NodeLinks(
      std::size_t n_nodes, ForEachLink&& for_each_link);

  [[nodiscard]] std::size_t n_nodes() const { return offsets_.size() - 1; }
  /// Ascending.
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t node) const {
    return std::span(others_).subspan(offsets_[node], offsets_[node + 1] - offsets_[node]);
  }

 private:
  void sort_and_drop_repeated();

  std::vector<std::uint64_t> offsets_;  ///< `[n_nodes + 1]`
  std::vector<std::uint32_t> others_;
};

template <class ForEachLink>
requires std::invocable<ForEachLink, void (*)(std::uint32_t, std::uint32_t)> NodeLinks::NodeLinks(
    std::size_t n_nodes, ForEachLink&& for_each_link)
    : offsets_(n_nodes + 1, 0) {
  for_each_link([this](std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    ++offsets_[from + 1];
    ++offsets_[to + 1];
  });
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  others_.resize(offsets_.back());
  auto next = offsets_;
  for_each_link([&](std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    others_[next[from]++] = to;
    others_[next[to]++] = from;
  });
  sort_and_drop_repeated();
}

[[nodiscard]] NodeLinks links_of(const KnnGraph& graph);

/// The ids at the payload path `path` of each row, numbers or UUIDs, in an array or alone. Ids that
/// are not among the rows, and other values, are passed over. kInvalidArgument if `path` is none,
/// or for more than kMaxJoinEntries links; kDataLoss for a payload that is no JSON. Adds a step for
/// each row to what is done.
[[nodiscard]] Result<NodeLinks> links_in_payloads(const SearchEnvironment& environment,
                                                  const JoinRows& rows, std::string_view path,
                                                  JoinProgress& progress);

}  // namespace quiver::engine

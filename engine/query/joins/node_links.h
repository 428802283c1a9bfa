// Who is linked to whom, for vectors of a graph's nodes.
#pragma once

#include <cstddef>
#include <cstdint>
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
/// link.
class NodeLinks {
 public:
  /// Nodes are below `n_nodes`. Links of a node with itself are left out.
  NodeLinks(std::size_t n_nodes, std::span<const NodeLink> links);

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

[[nodiscard]] NodeLinks links_of(const KnnGraph& graph);

/// The ids at the payload path `path` of each row, numbers or UUIDs, in an array or alone. Ids that
/// are not among the rows, and other values, are passed over. kInvalidArgument if `path` is none,
/// or for more than kMaxJoinEntries links.
[[nodiscard]] Result<NodeLinks> links_in_payloads(const SearchEnvironment& environment,
                                                  const JoinRows& rows, std::string_view path,
                                                  JoinProgress& progress);

}  // namespace quiver::engine

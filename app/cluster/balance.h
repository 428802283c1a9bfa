// `quiver cluster balance`: moves collections so that nodes hold about the same number of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/cluster/options.h"
#include "base/result.h"

namespace quiver::app {

/// A collection that is on some nodes only.
struct PlacedCollection {
  std::string name;                  ///< "docs", or "docs/0" for a shard with nodes of its own
  std::vector<std::uint64_t> nodes;  ///< that have it, or are to
  bool is_moving = false;            ///< a copy is on its way
  std::uint64_t n_bytes = 0;         ///< of one copy
  std::string trouble = {};          ///< why a copy cannot move; empty: it can
};

struct ClusterLayout {
  std::vector<std::uint64_t> nodes;  ///< that can take a collection: alive, counted, not draining
  std::vector<PlacedCollection> collections;
};
/// What an answer to `GET /cluster` says; bytes are 0.
[[nodiscard]] Result<ClusterLayout> parse_layout(std::string_view body);

struct BalancingMove {
  std::string collection;          ///< as `PlacedCollection::name`
  std::uint64_t from = 0, to = 0;  ///< nodes
  std::uint64_t n_bytes = 0;
  bool operator==(const BalancingMove&) const = default;
};
/// Moves that even out the bytes of the layout's nodes, in the order in which they help most. Each
/// collection moves at most once, and none that moves already. A move is worth it if it makes the
/// fuller of its two nodes emptier by a twentieth of the mean, or more.
[[nodiscard]] std::vector<BalancingMove> plan_moves(const ClusterLayout& layout);

/// Makes the moves, two at a time, and prints each. kFailedPrecondition, after the others, if some
/// were refused or given up, or cannot go on.
[[nodiscard]] Result<> run_cluster_balance(const ClusterStatusOptions& options);

}  // namespace quiver::app

// Which copies of placed collections move by themselves: those on nodes that drain, that were
// removed, or that are away for too long. Plain functions of what the ledger says.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cluster/node.h"
#include "cluster/records.h"

namespace quiver::cluster {

/// Collections that move by themselves at a time, in the whole cluster. Each copies a whole
/// collection, and searches and changes want the disks and the network, too.
inline constexpr std::size_t kMovesAtOnce = 2;
/// A copy that moves by itself to a node that is away so long is made elsewhere.
inline constexpr std::chrono::seconds kTargetPatience{15};

/// How long nodes are not alive, as far as this node has seen.
using AwayTimes = std::map<NodeId, std::chrono::steady_clock::duration>;

/// Shards of placed collections on each node.
[[nodiscard]] std::map<NodeId, std::size_t> loads_of(const ClusterState& state);

/// Nodes that are to hold no placed collection. A node that is away for `replace_after` (0: for any
/// time) is one of them only while most nodes are alive: else it may be this side that is cut off.
[[nodiscard]] std::set<NodeId> departing_nodes(const ClusterState& state, const AwayTimes& away,
                                               std::chrono::milliseconds replace_after);

struct PlannedMove {
  NodeId from = 0;
  NodeId to = 0;
};
/// The move that the leader of the collection shall begin now. Every node plans alike, so that no
/// more than `kMovesAtOnce` are on their way.
[[nodiscard]] std::optional<PlannedMove> planned_move(const ClusterState& state,
                                                      const std::string& id,
                                                      const std::set<NodeId>& departing);

/// True if the copy that is on its way is given up: its node was removed or drains, or is away.
[[nodiscard]] bool is_hopeless(const ClusterState& state, const MemberSet& set,
                               const std::set<NodeId>& departing, const AwayTimes& away,
                               std::chrono::milliseconds replace_after);

/// Why a copy on a departing node cannot move. Empty: there is none, or it can.
[[nodiscard]] std::string move_trouble(const ClusterState& state, const GroupState& group,
                                       const std::set<NodeId>& departing);

[[nodiscard]] bool is_moving(const GroupState& group);
/// True if fewer copies are on nodes that are alive than the collection is to have.
[[nodiscard]] bool is_under_replicated(const ClusterState& state, const GroupState& group);
/// True if `node`, a member of a group, may lead it after another: it counts, is alive and does not
/// drain.
[[nodiscard]] bool can_take_over(const ClusterState& state, NodeId node,
                                 const MemberSet::Member& member);
/// True if another member than `node` can take over the group.
[[nodiscard]] bool has_other_leader(const ClusterState& state, const GroupState& group,
                                    NodeId node);
/// Nodes of the cluster that count and are alive.
[[nodiscard]] std::size_t n_alive_members(const ClusterState& state);

[[nodiscard]] DrainView drain_view(const ClusterState& state, NodeId node,
                                   const std::set<NodeId>& departing);

}  // namespace quiver::cluster

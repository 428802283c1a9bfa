// What this node knows of its cluster.
#pragma once

#include <optional>

#include "cluster/node.h"
#include "service/api/call.h"
#include "service/api/collections.h"
#include "service/api/server_info.h"

namespace quiver::service::api {

/// nullopt: the server is alone. kPermissionDenied unless the caller may read everything.
[[nodiscard]] Result<std::optional<cluster::NodeView>> cluster_view(const Call& call);

/// What a replica on another node is, by the state of the node.
enum class ReplicaState : std::uint8_t { kActive, kPartial, kDead };
[[nodiscard]] ReplicaState state_of(const cluster::NodeView::Member& member);
[[nodiscard]] ReplicaState state_of(const cluster::PlacementView::Replica& replica);
/// "Active", as in the API.
[[nodiscard]] std::string_view to_string(ReplicaState state);
/// This node among the members; nullptr if it is not (yet).
[[nodiscard]] const cluster::NodeView::Member* self_of(const cluster::NodeView& view);

/// What this node's copy of a shard is; nullopt: it has none.
[[nodiscard]] std::optional<ReplicaState> local_state(const ShardSizes& sizes,
                                                      const ShardSizes::Shard& shard);
/// A copy of a shard on another node.
struct RemoteReplica {
  const ShardSizes::Shard* shard = nullptr;  ///< borrowed
  cluster::NodeId peer = 0;
  ReplicaState state = ReplicaState::kActive;
};
/// By node, then by shard.
[[nodiscard]] std::vector<RemoteReplica> remote_replicas(const ShardSizes& sizes);

/// A shard on its way from one node to another.
struct Transfer {
  const ShardSizes::Shard* shard = nullptr;  ///< borrowed
  cluster::NodeId from = 0;
  cluster::NodeId to = 0;
};
[[nodiscard]] std::vector<Transfer> transfers(const ShardSizes& sizes);

/// Collections that are on some nodes only. kPermissionDenied as of `cluster_view`.
[[nodiscard]] Result<std::vector<cluster::PlacementView>> placements(const Call& call);

/// A change of the nodes that have a shard. If it has no nodes of its own, the whole collection
/// moves.
struct ReplicaRequest {
  cluster::ReplicaChange::Kind kind = cluster::ReplicaChange::Kind::kReplicate;
  std::uint32_t shard = 0;
  cluster::NodeId from = 0;
  cluster::NodeId to = 0;
};
/// Begins the change. kFailedPrecondition if it is impossible, and without a cluster.
void change_replicas(Call& call, const OpenCollection& target, const ReplicaRequest& request,
                     Done<> done);

/// What becomes of a node.
enum class NodeChange : std::uint8_t { kDrain, kEndDrain, kRemove, kForceRemoval };
/// On the node that leads the cluster. kNotFound: there is no such node; kFailedPrecondition: it
/// cannot be removed now.
void change_node(Call& call, NodeChange change, cluster::NodeId node, Done<> done);

}  // namespace quiver::service::api

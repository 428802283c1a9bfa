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
/// This node among those that have a placed collection; nullptr if it is not one, or all have it.
[[nodiscard]] const cluster::PlacementView::Replica* local_replica(const ShardSizes& sizes);

/// The collection on its way from one node to another.
struct Transfer {
  cluster::NodeId from = 0;
  cluster::NodeId to = 0;
};
[[nodiscard]] std::optional<Transfer> transfer_of(const cluster::PlacementView& placement);

/// Collections that are on some nodes only. kPermissionDenied as of `cluster_view`.
[[nodiscard]] Result<std::vector<cluster::PlacementView>> placements(const Call& call);

/// A change of the nodes that have a collection, as the API says it: of one shard. All move.
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

// What this node knows of its cluster.
#pragma once

#include <optional>

#include "cluster/node.h"
#include "service/api/call.h"

namespace quiver::service::api {

/// nullopt: the server is alone. kPermissionDenied unless the caller may read everything.
[[nodiscard]] Result<std::optional<cluster::NodeView>> cluster_view(const Call& call);

/// What a replica on another node is, by the state of the node.
enum class ReplicaState : std::uint8_t { kActive, kPartial, kDead };
[[nodiscard]] ReplicaState state_of(const cluster::NodeView::Member& member);
/// "Active", as in the API.
[[nodiscard]] std::string_view to_string(ReplicaState state);
/// This node among the members; nullptr if it is not (yet).
[[nodiscard]] const cluster::NodeView::Member* self_of(const cluster::NodeView& view);

}  // namespace quiver::service::api

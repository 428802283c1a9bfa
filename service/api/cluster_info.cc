#include "service/api/cluster_info.h"

#include <algorithm>

#include "service/api/runtime.h"

namespace quiver::service::api {

Result<std::optional<cluster::NodeView>> cluster_view(const Call& call) {
  QV_TRY(call.check_access(Access::kGlobalRead));
  const cluster::Node* node = call.runtime().options().cluster.node;
  return node == nullptr ? std::optional<cluster::NodeView>() : node->view();
}

ReplicaState state_of(const cluster::NodeView::Member& member) {
  if (!member.is_alive) return ReplicaState::kDead;
  return member.is_active ? ReplicaState::kActive : ReplicaState::kPartial;
}

std::string_view to_string(ReplicaState state) {
  switch (state) {
    case ReplicaState::kActive:
      return "Active";
    case ReplicaState::kPartial:
      return "Partial";
    case ReplicaState::kDead:
      break;
  }
  return "Dead";
}

const cluster::NodeView::Member* self_of(const cluster::NodeView& view) {
  const auto found = std::ranges::find(view.members, view.self, &cluster::NodeView::Member::id);
  return found == view.members.end() ? nullptr : &*found;
}

}  // namespace quiver::service::api

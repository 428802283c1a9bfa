#include "service/api/cluster_info.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/collection.h"
#include "service/api/answer.h"
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

ReplicaState state_of(const cluster::PlacementView::Replica& replica) {
  if (!replica.is_alive) return ReplicaState::kDead;
  const bool is_joining = replica.state == cluster::PlacementView::State::kJoining;
  return is_joining ? ReplicaState::kPartial : ReplicaState::kActive;
}

const cluster::PlacementView::Replica* local_replica(const ShardSizes& sizes) {
  if (!sizes.placement) return nullptr;
  const auto& replicas = sizes.placement->replicas;
  const auto found =
      std::ranges::find(replicas, sizes.peer_id, &cluster::PlacementView::Replica::id);
  return found == replicas.end() ? nullptr : &*found;
}

std::optional<Transfer> transfer_of(const cluster::PlacementView& placement) {
  for (const auto& replica : placement.replicas) {
    if (replica.state != cluster::PlacementView::State::kJoining) continue;
    return Transfer{replica.replaces == 0 ? placement.leader : replica.replaces, replica.id};
  }
  return std::nullopt;
}

Result<std::vector<cluster::PlacementView>> placements(const Call& call) {
  QV_TRY(call.check_access(Access::kGlobalRead));
  const cluster::Node* node = call.runtime().options().cluster.node;
  return node == nullptr ? std::vector<cluster::PlacementView>() : node->placements();
}

void change_replicas(Call& call, const OpenCollection& target, const ReplicaRequest& request,
                     Done<> done) {
  auto change = [&call, target, request]() -> Result<> {
    QV_TRY(call.check_access(Access::kManage));
    cluster::Node* node = call.runtime().options().cluster.node;
    if (node == nullptr) {
      return fail(Code::kFailedPrecondition, "the server is alone: it cannot move shards");
    }
    const auto numbers = engine::shard_numbers(*target.collection->config());
    if (std::ranges::find(numbers, request.shard) == numbers.end()) {
      return fail(Code::kFailedPrecondition, fmt::format("shard {} does not exist in collection {}",
                                                         request.shard, target.name));
    }
    return node->change_replicas(target.name, {request.kind, request.from, request.to});
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(change));
}

namespace {

Result<> apply_to(cluster::Node& cluster, NodeChange change, cluster::NodeId node) {
  switch (change) {
    case NodeChange::kDrain:
      return cluster.drain(node);
    case NodeChange::kEndDrain:
      return cluster.end_drain(node);
    case NodeChange::kForceRemoval:
      return cluster.remove(node, cluster::Removal::kForced);
    case NodeChange::kRemove:
      break;
  }
  return cluster.remove(node, cluster::Removal::kEmpty);
}

}  // namespace

void change_node(Call& call, NodeChange change, cluster::NodeId node, Done<> done) {
  auto apply = [&call, change, node]() -> Result<> {
    QV_TRY(call.check_access(Access::kManage));
    cluster::Node* cluster = call.runtime().options().cluster.node;
    if (cluster != nullptr) return apply_to(*cluster, change, node);
    return fail(Code::kFailedPrecondition, "the server is alone: it has no other nodes");
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(apply));
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

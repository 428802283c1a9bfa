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

std::optional<ReplicaState> local_state(const ShardSizes& sizes, const ShardSizes::Shard& shard) {
  if (shard.placement == nullptr) {
    const auto* self = sizes.cluster ? self_of(*sizes.cluster) : nullptr;
    return self == nullptr || self->is_active ? ReplicaState::kActive : ReplicaState::kPartial;
  }
  for (const auto& replica : shard.placement->replicas) {
    if (replica.id == sizes.peer_id) return state_of(replica);
  }
  return std::nullopt;
}

std::vector<RemoteReplica> remote_replicas(const ShardSizes& sizes) {
  std::vector<RemoteReplica> all;
  const bool is_known = sizes.cluster && !sizes.is_alone;
  for (const auto& shard : sizes.shards) {
    if (shard.placement != nullptr) {
      for (const auto& replica : shard.placement->replicas) {
        all.push_back({&shard, replica.id, state_of(replica)});
      }
    } else if (is_known) {
      for (const auto& member : sizes.cluster->members) {
        all.push_back({&shard, member.id, state_of(member)});
      }
    }
  }
  std::erase_if(all, [&](const auto& replica) { return replica.peer == sizes.peer_id; });
  std::ranges::stable_sort(all, {}, &RemoteReplica::peer);
  return all;
}

std::vector<Transfer> transfers(const ShardSizes& sizes) {
  std::vector<Transfer> all;
  for (const auto& shard : sizes.shards) {
    if (shard.placement == nullptr) continue;
    const auto& replicas = shard.placement->replicas;
    const auto joining = std::ranges::find(replicas, cluster::PlacementView::State::kJoining,
                                           &cluster::PlacementView::Replica::state);
    if (joining == replicas.end()) continue;
    const auto from = joining->replaces == 0 ? shard.placement->leader : joining->replaces;
    all.push_back({&shard, from, joining->id});
  }
  return all;
}

Result<std::vector<cluster::PlacementView>> placements(const Call& call) {
  QV_TRY(call.check_access(Access::kGlobalRead));
  const cluster::Node* node = call.runtime().options().cluster.node;
  return node == nullptr ? std::vector<cluster::PlacementView>() : node->placements();
}

void change_replicas(Call& call, const OpenCollection& target, const ReplicaRequest& request,
                     Done<> done) {
  auto begin = [&call, target, request]() -> Result<> {
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
    const cluster::ReplicaChange change{request.kind, request.from, request.to};
    const auto parts = node->part_placements(target.name);
    if (request.shard < parts.size()) {
      return node->change_part_replicas(parts[request.shard].name, change);
    }
    return node->change_replicas(target.name, change);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(begin));
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

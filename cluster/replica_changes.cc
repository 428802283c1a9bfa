#include "cluster/replica_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace quiver::cluster {
namespace {

tl::unexpected<Error> refuse_change(std::string text) {
  return fail(Code::kFailedPrecondition, std::move(text));
}

/// The node that is to get a copy must be alive and count.
Result<> check_target(const ClusterState& state, const MemberSet& set, NodeId node) {
  if (!state.set->is_active(node)) {
    return refuse_change(fmt::format("peer {} is no active node of the cluster", node));
  }
  if (!state.alive.contains(node)) return refuse_change(fmt::format("peer {} is down", node));
  if (!state.can_place.contains(node)) {
    return refuse_change(fmt::format("peer {} runs a version without placement", node));
  }
  if (state.draining.contains(node)) {
    return refuse_change(fmt::format("peer {} is draining", node));
  }
  if (set.members.contains(node)) {
    return refuse_change(fmt::format("peer {} has the collection already", node));
  }
  return {};
}

Result<> check_source(const MemberSet& set, NodeId node) {
  const auto found = set.members.find(node);
  if (found != set.members.end() && found->second.state == MemberState::kActive) return {};
  return refuse_change(fmt::format("peer {} has no active copy of the collection", node));
}

Result<> check_idle(const MemberSet& set) {
  const NodeId joining = set.find(MemberState::kJoining);
  const NodeId leaving = set.find(MemberState::kLeaving);
  if (joining == 0 && leaving == 0) return {};
  return refuse_change(
      fmt::format("a change is on its way: peer {} {} the collection; one at a "
                  "time",
                  joining != 0 ? joining : leaving, joining != 0 ? "gets" : "gives up"));
}

Result<> begin_copy(const ClusterState& state, const ReplicaChange& change, MemberSet& set) {
  const NodeId replaces = change.kind == ReplicaChange::Kind::kMove ? change.from : 0;
  const auto before = set.members.find(change.to);
  if (before != set.members.end() && before->second.state == MemberState::kJoining &&
      before->second.replaces == replaces) {
    return {};  // asked for again
  }
  QV_TRY(check_idle(set));
  QV_TRY(check_target(state, set, change.to));
  if (replaces != 0) {
    QV_TRY(check_source(set, replaces));
  }
  set.members[change.to] = {state.alive.at(change.to), MemberState::kJoining, replaces};
  return {};
}

Result<> begin_drop(const ReplicaChange& change, MemberSet& set) {
  QV_TRY(check_idle(set));
  QV_TRY(check_source(set, change.from));
  MemberSet left = set;
  left.members.erase(change.from);
  if (left.n_active() < left.quorum()) {
    return refuse_change(
        fmt::format("{} copies would be left, and {} must store a change: move "
                    "the copy instead",
                    left.n_active(), left.quorum()));
  }
  set.members.at(change.from).state = MemberState::kLeaving;
  return {};
}

Result<> abort_copy(const ReplicaChange& change, MemberSet& set) {
  const NodeId joining = set.find(MemberState::kJoining);
  if (joining == 0 || (change.to != 0 && change.to != joining)) {
    return refuse_change("there is no such transfer, or it is over");
  }
  set.members.erase(joining);
  return {};
}

}  // namespace

Result<> apply_change(const ClusterState& state, const ReplicaChange& change, MemberSet& set) {
  switch (change.kind) {
    case ReplicaChange::Kind::kReplicate:
    case ReplicaChange::Kind::kMove:
      return begin_copy(state, change, set);
    case ReplicaChange::Kind::kDrop:
      return begin_drop(change, set);
    case ReplicaChange::Kind::kAbort:
      break;
  }
  return abort_copy(change, set);
}

bool replace_lost(const ClusterState& state, MemberSet& set) {
  if (!check_idle(set)) return false;
  for (const auto& [node, member] : set.members) {
    if (state.set->members.contains(node)) continue;
    const std::string& peer = member.address.peer;
    const auto heir = std::ranges::find_if(
        state.set->members, [&](const auto& other) { return other.second.address.peer == peer; });
    if (heir == state.set->members.end() || set.members.contains(heir->first)) continue;
    if (!state.alive.contains(heir->first)) continue;
    set.members[heir->first] = {heir->second.address, MemberState::kJoining, node};
    return true;
  }
  return false;
}

}  // namespace quiver::cluster

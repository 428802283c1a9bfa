#include "cluster/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace quiver::cluster {
namespace {

using Loads = std::map<NodeId, std::size_t>;

/// Members of the group that count and are alive.
std::size_t n_alive_in(const ClusterState& state, const GroupState& group) {
  return static_cast<std::size_t>(std::ranges::count_if(
      state.alive, [&](const auto& node) { return group.set->is_active(node.first); }));
}

std::size_t n_shards_of(const ClusterState& state, const std::string& id) {
  const auto* name = state.name_of(id);
  return name == nullptr ? 0 : engine::shard_numbers(state.collections.at(*name).config).size();
}

/// The departing member that gives its copy up first: one that is gone holds up what others
/// commit. 0: there is none.
NodeId source_of(const ClusterState& state, const MemberSet& set,
                 const std::set<NodeId>& departing) {
  NodeId found = 0;
  for (const auto& [node, member] : set.members) {
    if (member.state != MemberState::kActive || !departing.contains(node)) continue;
    if (!state.alive.contains(node)) return node;
    if (found == 0) found = node;
  }
  return found;
}

/// The node with the fewest shards, then with the lowest id; 0: none can take a copy.
NodeId target_for(const ClusterState& state, const MemberSet& set, const Loads& loads) {
  std::pair<std::size_t, NodeId> best;
  for (const auto& [node, address] : state.alive) {
    const bool is_fit = state.set->is_active(node) && state.can_place.contains(node) &&
                        !state.draining.contains(node) && !set.members.contains(node);
    if (!is_fit) continue;
    const auto load = loads.find(node);
    const std::pair candidate{load == loads.end() ? 0 : load->second, node};
    if (best.second == 0 || candidate < best) best = candidate;
  }
  return best.second;
}

std::optional<PlannedMove> wanted_move(const ClusterState& state, const GroupState& group,
                                       const std::set<NodeId>& departing, const Loads& loads) {
  if (is_moving(group) || !state.alive.contains(group.leader)) return std::nullopt;
  const NodeId from = source_of(state, *group.set, departing);
  if (from == 0) return std::nullopt;
  const NodeId to = target_for(state, *group.set, loads);
  return to == 0 ? std::nullopt : std::optional(PlannedMove{from, to});
}

/// False for a move that waits for nodes that are away: it keeps no other from beginning.
bool is_under_way(const ClusterState& state, const GroupState& group) {
  if (!is_moving(group) || !state.alive.contains(group.leader)) return false;
  const NodeId joining = group.set->find(MemberState::kJoining);
  if (joining != 0) return state.alive.contains(joining);
  return n_alive_in(state, group) >= group.set->quorum();
}

std::string collections_text(const ClusterState& state, const std::set<std::string>& ids) {
  const auto* name = state.name_of(*ids.begin());
  const std::string first = name == nullptr ? *ids.begin() : *name;
  if (ids.size() == 1) return fmt::format("collection `{}`", first);
  return fmt::format("{} collections, among them `{}`", ids.size(), first);
}

/// Of the placed collections that the node still has.
std::string drain_trouble(const ClusterState& state, NodeId node,
                          const std::set<NodeId>& departing) {
  std::set<std::string> stuck;
  std::string reason;
  for (const auto& [id, group] : state.placed) {
    if (!group.has(node)) continue;
    auto trouble = move_trouble(state, group, departing);
    if (trouble.empty()) continue;
    stuck.insert(id);
    if (reason.empty()) reason = std::move(trouble);
  }
  if (stuck.empty()) return "";
  return fmt::format("{} cannot move: {}", collections_text(state, stuck), reason);
}

}  // namespace

std::map<NodeId, std::size_t> loads_of(const ClusterState& state) {
  Loads loads;
  for (const auto& [name, record] : state.collections) {
    const auto placed = state.placed.find(record.config.cluster_id);
    if (placed == state.placed.end()) continue;
    for (const auto& [node, member] : placed->second.set->members) {
      loads[node] += engine::shard_numbers(record.config).size();
    }
  }
  return loads;
}

std::size_t n_alive_members(const ClusterState& state) { return n_alive_in(state, state); }

std::set<NodeId> departing_nodes(const ClusterState& state, const AwayTimes& away,
                                 std::chrono::milliseconds replace_after) {
  std::set<NodeId> departing = state.draining;
  for (const auto& [id, group] : state.placed) {
    for (const auto& [node, member] : group.set->members) {
      if (!state.set->members.contains(node)) departing.insert(node);
    }
  }
  const bool are_most_alive = n_alive_members(state) >= state.set->quorum();
  if (replace_after.count() == 0 || !are_most_alive) return departing;
  for (const auto& [node, duration] : away) {
    if (duration >= replace_after && !state.alive.contains(node)) departing.insert(node);
  }
  return departing;
}

bool is_moving(const GroupState& group) {
  return group.set->find(MemberState::kJoining) != 0 || group.set->find(MemberState::kLeaving) != 0;
}

std::optional<PlannedMove> planned_move(const ClusterState& state, const std::string& id,
                                        const std::set<NodeId>& departing) {
  if (source_of(state, *state.group_of(id).set, departing) == 0) return std::nullopt;
  auto n_moving = static_cast<std::size_t>(std::ranges::count_if(
      state.placed, [&](const auto& item) { return is_under_way(state, item.second); }));
  Loads loads = loads_of(state);
  for (const auto& [other, group] : state.placed) {
    const auto move = wanted_move(state, group, departing, loads);
    if (!move) continue;
    if (n_moving >= kMovesAtOnce) return std::nullopt;
    if (other == id) return move;
    ++n_moving;
    loads[move->to] += n_shards_of(state, other);
  }
  return std::nullopt;
}

bool is_hopeless(const ClusterState& state, const MemberSet& set, const std::set<NodeId>& departing,
                 const AwayTimes& away, std::chrono::milliseconds replace_after) {
  const NodeId joining = set.find(MemberState::kJoining);
  if (joining == 0) return false;
  if (state.draining.contains(joining) || !state.set->members.contains(joining)) return true;
  const auto found = away.find(joining);
  if (found == away.end() || state.alive.contains(joining)) return false;
  if (replace_after.count() != 0 && found->second >= replace_after) return true;
  const NodeId source = set.members.at(joining).replaces;
  return departing.contains(source) && found->second >= kTargetPatience;
}

std::string move_trouble(const ClusterState& state, const GroupState& group,
                         const std::set<NodeId>& departing) {
  const NodeId joining = group.set->find(MemberState::kJoining);
  if (joining != 0 && !state.alive.contains(joining)) {
    return fmt::format("node {}, which is to get a copy, is down", joining);
  }
  const NodeId source = source_of(state, *group.set, departing);
  if (source == 0 || is_moving(group)) return "";
  if (!state.alive.contains(group.leader)) {
    return "no node leads it: those with its copies must be back";
  }
  if (target_for(state, *group.set, {}) != 0) return "";
  return fmt::format(
      "node {} {}, and no other node can take the copy: one more is wanted that is alive, does "
      "not drain and does not have the collection yet",
      source, state.draining.contains(source) ? "drains" : "is away");
}

bool is_under_replicated(const ClusterState& state, const GroupState& group) {
  return n_alive_in(state, group) < group.set->n_nodes;
}

bool can_take_over(const ClusterState& state, NodeId node, const MemberSet::Member& member) {
  return member.state == MemberState::kActive && state.alive.contains(node) &&
         !state.draining.contains(node);
}

bool has_other_leader(const ClusterState& state, const GroupState& group, NodeId node) {
  return std::ranges::any_of(group.set->members, [&](const auto& member) {
    return member.first != node && can_take_over(state, member.first, member.second);
  });
}

DrainView drain_view(const ClusterState& state, NodeId node, const std::set<NodeId>& departing) {
  DrainView view;
  view.n_collections = static_cast<std::uint32_t>(
      std::ranges::count_if(state.placed, [&](const auto& item) { return item.second.has(node); }));
  const bool counts = state.set->is_active(node) && state.alive.contains(node);
  const std::size_t n_others = n_alive_members(state) - (counts ? 1 : 0);
  const bool leads = state.leader == node;
  view.trouble = drain_trouble(state, node, departing);
  if (view.trouble.empty() && n_others < state.set->quorum()) {
    view.trouble =
        fmt::format("without it {} of {} nodes would be alive, and {} must store a change",
                    n_others, state.set->n_nodes, state.set->quorum());
  }
  if (view.trouble.empty() && leads && !has_other_leader(state, state, node)) {
    view.trouble = "no other node can lead the cluster";
  }
  view.is_done = view.trouble.empty() && view.n_collections == 0 && !leads;
  return view;
}

}  // namespace quiver::cluster

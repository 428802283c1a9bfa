// Nodes that give up what they hold, and nodes that are taken out of the cluster.
// docs/decisions/0073.
#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/observe/log.h"
#include "cluster/moves.h"
#include "cluster/node_impl.h"

namespace quiver::cluster {
namespace {

using engine::EntryId;
using engine::ShardName;
using Clock = std::chrono::steady_clock;

/// A node that has not looked for so long does not know who was away meanwhile.
constexpr std::chrono::minutes kBlindness{1};
/// The others need a moment to apply the newest entries.
constexpr int kRemovalAttempts = 20;
constexpr std::chrono::milliseconds kRemovalPause{50};
constexpr std::chrono::milliseconds kApplyPause{100};
constexpr std::chrono::milliseconds kApplyStep{2};

tl::unexpected<Error> no_node(NodeId node) {
  return fail(Code::kNotFound, fmt::format("node {} is no member of the cluster", node));
}

tl::unexpected<Error> changed_meanwhile() {
  return fail(Code::kUnavailable, "the nodes of the cluster have changed meanwhile, try again");
}

/// "collection `a`", or "collections `a`, `b` and 3 more".
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text = names.size() == 1 ? "collection " : "collections ";
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += fmt::format("{}`{}`", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

/// Placed collections that the node has; with `alone`, those that no other node that is alive
/// could go on with.
struct Held {
  std::vector<std::string> all;
  std::vector<std::string> alone;
};

Held held_by(const ClusterState& state, NodeId node) {
  Held held;
  for (const auto& [name, record] : state.collections) {
    const auto placed = state.placed.find(record.config.cluster_id);
    if (placed == state.placed.end() || !placed->second.has(node)) continue;
    held.all.push_back(name);
    const auto& members = placed->second.set->members;
    const bool is_elsewhere = std::ranges::any_of(members, [&](const auto& member) {
      return member.first != node && member.second.state == MemberState::kActive &&
             state.alive.contains(member.first);
    });
    if (!is_elsewhere) held.alone.push_back(name);
  }
  return held;
}

Result<> check_removable(const ClusterState& state, NodeId node, Removal removal) {
  const auto refuse = [&](std::string text) {
    return fail(Code::kFailedPrecondition,
                fmt::format("node {} cannot be removed: {}", node, text));
  };
  const bool is_alive = state.alive.contains(node);
  if (state.leader == node) return refuse("it leads the cluster; drain it first");
  const Held held = held_by(state, node);
  if (held.all.empty()) return {};
  if (is_alive || removal != Removal::kForced) {
    return refuse(fmt::format("it has {}: drain it first{}", list_of(held.all),
                              is_alive ? "" : ", or force it if it will not come back"));
  }
  if (held.alone.empty()) return {};
  return refuse(fmt::format(
      "no other node that is alive has {}: bring one that has back, or drop what is lost",
      list_of(held.alone)));
}

}  // namespace

// Who is away.

void NodeImpl::note_away(const ClusterState& state) {
  const auto now = Clock::now();
  MutexLock lock(mutex_);
  if (now - away_noted_at_ > kBlindness) away_since_.clear();
  away_noted_at_ = now;
  std::set<NodeId> members;
  for (const auto& [node, member] : state.set->members) members.insert(node);
  for (const auto& [id, group] : state.placed) {
    for (const auto& [node, member] : group.set->members) members.insert(node);
  }
  for (const NodeId node : members) {
    if (!state.alive.contains(node)) away_since_.try_emplace(node, now);
  }
  std::erase_if(away_since_, [&](const auto& item) {
    return state.alive.contains(item.first) || !members.contains(item.first);
  });
}

AwayTimes NodeImpl::away_times() const {
  const auto now = Clock::now();
  AwayTimes times;
  MutexLock lock(mutex_);
  for (const auto& [node, since] : away_since_) times[node] = now - since;
  return times;
}

std::set<NodeId> NodeImpl::departing(const ClusterState& state) const {
  return departing_nodes(state, away_times(), options_.replace_after);
}

// Draining.

Result<> NodeImpl::drain(NodeId node) {
  QV_TRY(check_leads());
  QV_TRY(const auto state, fetch_state());
  const auto member = state.set->members.find(node);
  if (member == state.set->members.end()) return no_node(node);
  if (state.draining.contains(node)) return {};
  Transaction change;
  change.conditions = {{keys_.set(), Condition::What::kModRevision, state.set_revision}};
  change.writes = {{keys_.draining(node), member->second.address.peer}};
  QV_TRY(const bool is_written, write(std::move(change)));
  if (!is_written) return changed_meanwhile();
  log_info("node {} at {} drains", node, member->second.address.peer);
  tell_nodes();
  (void)refresh();  // so that this node tells of it at once
  return {};
}

Result<> NodeImpl::end_drain(NodeId node) {
  QV_TRY(check_leads());
  QV_TRY(const auto state, fetch_state());
  if (!state.set->members.contains(node)) return no_node(node);
  if (!state.draining.contains(node)) return {};
  Transaction change;
  change.writes = {{keys_.draining(node)}};
  QV_TRY(const bool is_written, write(std::move(change)));
  if (!is_written) return changed_meanwhile();
  log_info("node {} does not drain any more", node);
  tell_nodes();
  (void)refresh();
  return {};
}

/// What the leader of a collection changes by itself.
void NodeImpl::plan_move(const ClusterState& state, const std::string& id, MemberSet& set) {
  if (is_hopeless(state, set, departing_, away_times(), options_.replace_after)) {
    const NodeId joining = set.find(MemberState::kJoining);
    log_warning("collection {}: its copy for node {} is given up", id, joining);
    set.members.erase(joining);
    return;
  }
  const auto move = planned_move(state, id, departing_);
  if (!move) return;
  // A node that has just died is alive until its lease ends.
  const NodeAddress& target = state.alive.at(move->to);
  if (move->to != self_ && !peers_.call(target.peer, kGetApplied, {})) return;
  set.members[move->to] = {target, MemberState::kJoining, move->from};
  log_info("collection {} moves from node {}, which {}, to node {}", id, move->from,
           state.draining.contains(move->from) ? "drains" : "is away", move->to);
}

/// True if this node hands over, or has: then it does nothing else of a leader. Another one must
/// have everything first, as changes wait for it.
Result<bool> NodeImpl::hand_over(const ClusterState& state, const std::string& id,
                                 Committer& committer) {
  const GroupState& group = state.group_of(id);
  const bool is_due = state.draining.contains(self_) && has_other_leader(state, group, self_) &&
                      state.restores.empty() && group.set->find(MemberState::kLeaving) != self_;
  if (!is_due) {
    if (id.empty()) set_handing_over(id, false);
    return false;
  }
  const auto has_heir = has_heir_with(state, group, tails_of(state, id));
  if (!has_heir || !*has_heir) {
    set_handing_over(id, false);
    return has_heir;
  }
  if (!is_ready_to_hand_over(id, committer)) return true;
  bool is_over = false;
  const auto give_up = [&](const std::map<ShardName, EntryId>& tails) -> Result<> {
    QV_TRY(const bool has_heir_still, has_heir_with(state, group, tails));
    if (!has_heir_still) return {};  // later
    Transaction change;
    change.conditions = {{keys_.leader(id), Condition::What::kCreateRevision, committer.epoch()}};
    change.writes = {{keys_.leader(id)}};
    QV_TRY(ledger_.transact(change));
    committer.follow();
    is_over = true;
    return {};
  };
  // No change of the catalog is half-way then.
  Result<> done;
  {
    MutexLock lock(catalog_mutex_);
    done = committer.between_commits(give_up);
  }
  set_handing_over(id, false);
  QV_TRY(std::move(done));
  if (!is_over) return false;
  log_info("this node drains and does not lead {} any more",
           id.empty() ? "the cluster" : "collection " + id);
  wake_nodes();
  wake();
  return true;
}

Result<bool> NodeImpl::has_heir_with(const ClusterState& state, const GroupState& group,
                                     const std::map<ShardName, EntryId>& tails) const {
  Result<bool> outcome = false;
  for (const auto& [node, member] : group.set->members) {
    if (node == self_ || !can_take_over(state, node, member)) continue;
    outcome = has_all(member.address, tails);
    if (outcome && *outcome) return true;
  }
  return outcome;
}

// Removing.

Result<> NodeImpl::remove(NodeId node, Removal removal) {
  Result<> last;
  for (int i = 0; i < kRemovalAttempts; ++i) {
    QV_TRY(check_leads());
    QV_TRY(const auto state, fetch_state());
    if (state.removed.contains(node)) return {};
    if (!state.set->members.contains(node)) return no_node(node);
    QV_TRY(check_removable(state, node, removal));
    QV_TRY(const bool is_removed, try_to_remove(state, node, last));
    if (is_removed) {
      tell_nodes();
      (void)refresh();
      return {};
    }
    std::this_thread::sleep_for(kRemovalPause);
  }
  return last;
}

/// Every entry that is committed must be on a majority of those that stay. False, with the reason
/// in `trouble`: it is not, and may be soon.
Result<bool> NodeImpl::try_to_remove(const ClusterState& state, NodeId node, Result<>& trouble) {
  MemberSet set = *state.set;
  const NodeAddress address = set.members.at(node).address;
  set.members.erase(node);
  set.n_nodes = std::max<std::uint32_t>(1, set.n_nodes - 1);
  Transaction change;
  change.conditions = {{keys_.set(), Condition::What::kModRevision, state.set_revision}};
  change.writes = {
      {keys_.set(), encode_set(set)}, {keys_.removed(node), address.peer}, {keys_.draining(node)}};
  trouble = committer_->between_commits([&](const std::map<ShardName, EntryId>& tails) -> Result<> {
    QV_TRY(majority_has_all(state, set, tails));
    QV_TRY(const bool is_written, write(std::move(change)));
    if (!is_written) return changed_meanwhile();
    log_warning("node {} at {} is removed from the cluster, which has {} nodes now", node,
                address.peer, set.n_nodes);
    return {};
  });
  wake();  // the new revision counts once it is read
  if (trouble) return true;
  if (trouble.error().code() == Code::kUnavailable) return false;
  return fail(trouble.error());
}

/// What this node has committed is applied here within moments.
bool NodeImpl::has_all_here(const std::map<ShardName, EntryId>& tails) const {
  const auto end = Clock::now() + kApplyPause;
  return std::ranges::all_of(tails, [&](const auto& tail) {
    while (true) {
      if (replicas_.applied(tail.first) >= tail.second.number) return true;
      if (Clock::now() > end) return false;
      std::this_thread::sleep_for(kApplyStep);
    }
  });
}

Result<> NodeImpl::majority_has_all(const ClusterState& state, const MemberSet& set,
                                    const std::map<ShardName, EntryId>& tails) const {
  std::uint32_t n_complete = 0;
  for (const auto& [node, member] : set.members) {
    if (member.state != MemberState::kActive) continue;
    if (node != self_ && !state.alive.contains(node)) continue;
    const auto has_everything =
        node == self_ ? Result<bool>(has_all_here(tails)) : has_all(member.address, tails);
    if (has_everything && *has_everything) ++n_complete;
  }
  if (n_complete >= set.quorum()) return {};
  return fail(Code::kUnavailable,
              fmt::format("{} of the nodes that stay have all changes, and {} must", n_complete,
                          set.quorum()));
}

}  // namespace quiver::cluster

// Who leads a group of nodes, and what its leader does at each look.
#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/observe/log.h"
#include "cluster/node_impl.h"

namespace quiver::cluster {
namespace {

using engine::EntryId;
using engine::ShardName;
using Clock = std::chrono::steady_clock;

/// A leader is gone if it cannot be reached so often, so far apart.
constexpr int kUnanswered = 3;
constexpr std::chrono::milliseconds kAskAgain{100};
constexpr std::chrono::seconds kDeposingPause{10};
/// A node that holds a leader's key this long and cannot lead gives it up, and pauses.
constexpr std::chrono::seconds kKeyPatience{2};
constexpr std::chrono::seconds kCampaignPause{10};
/// Then a node that lacks entries may campaign, too: maybe all do, for one shard.
constexpr std::chrono::seconds kLeaderlessPatience{10};

std::string describe(const std::string& id) {
  return id.empty() ? "the cluster" : "collection " + id;
}

void note_first(Result<>& first, Result<> done) {
  if (!done && first) first = std::move(done);
}

}  // namespace

std::shared_ptr<Committer> NodeImpl::make_committer(const std::string& id) {
  const Committer::Options options{self_, id, options_.apply_timeout, options_.commit_timeout};
  return std::make_shared<Committer>(keys_, ledger_, peers_, options, [this] { wake(); });
}

std::shared_ptr<Committer> NodeImpl::committer_of(const std::string& cluster_id) const {
  MutexLock lock(groups_mutex_);
  const auto found = committers_.find(cluster_id);
  return found == committers_.end() ? committer_ : found->second;
}

bool NodeImpl::leads(const std::string& id) const {
  const auto committer = committer_of(id);
  return committer != nullptr && committer->leads();
}

void NodeImpl::note_groups(const ClusterState& state) {
  MutexLock lock(groups_mutex_);
  for (const auto& [id, group] : state.placed) committers_.try_emplace(id);
}

void NodeImpl::forget_groups(const ClusterState& state) {
  std::vector<std::shared_ptr<Committer>> ended;
  {
    MutexLock lock(groups_mutex_);
    for (auto item = committers_.begin(); item != committers_.end();) {
      if (state.is_placed(item->first)) {
        ++item;
        continue;
      }
      if (item->second != nullptr) ended.push_back(std::move(item->second));
      item = committers_.erase(item);
    }
  }
  for (const auto& committer : ended) committer->stop();
  std::erase_if(standings_, [&](const auto& standing) {
    return !standing.first.empty() && !state.is_placed(standing.first);
  });
}

void NodeImpl::follow_all() {
  committer_->follow();
  MutexLock lock(groups_mutex_);
  for (const auto& [id, committer] : committers_) {
    if (committer != nullptr) committer->follow();
  }
}

std::map<ShardName, EntryId> NodeImpl::tails_of(const ClusterState& state, const std::string& id) {
  std::map<ShardName, EntryId> tails;
  for (const auto& [shard, tail] : state.tails) {
    const bool is_ours = id.empty() ? !state.is_placed(shard.collection) : shard.collection == id;
    if (is_ours) tails[shard] = tail;
  }
  return tails;
}

std::set<ShardName> NodeImpl::dropped_of(const ClusterState& state, const std::string& id) {
  std::set<ShardName> dropped = state.dropped;
  std::erase_if(dropped, [&](const ShardName& shard) {
    return id.empty() ? state.is_placed(shard.collection) : shard.collection != id;
  });
  return dropped;
}

Result<> NodeImpl::keep_group(const ClusterState& state, const std::string& id) {
  const GroupState& group = state.group_of(id);
  Standing& standing = standings_[id];
  const auto committer = committer_of(id);
  const bool is_ours = group.leader == self_ && group.leader_lease == lease_;
  if (leads(id) && (!is_ours || group.epoch != committer->epoch())) step_down(id);
  const bool is_led = group.leader != 0 && group.leader != self_;
  if (is_led || leads(id)) standing.leaderless_since = Clock::now();
  if (!is_ours || leads(id)) standing.holds_key_since.reset();
  if (!leads(id)) set_handing_over(id, false);
  if (is_ours && !leads(id)) return take_over(state, id);
  Result<> first;
  if (leads(id)) note_first(first, lead_group(state, id, *committer));
  const auto caught_up = catch_up(state, id);
  note_first(first, caught_up);
  const bool is_whole = caught_up && !is_copying(state, id);
  const bool may_lead = is_whole || Clock::now() - standing.leaderless_since > kLeaderlessPatience;
  const bool is_of_before = group.leader == self_ && !is_ours;
  if ((group.leader == 0 && may_lead) || is_of_before) note_first(first, campaign(state, id));
  return first;
}

Result<> NodeImpl::lead_group(const ClusterState& state, const std::string& id,
                              Committer& committer) {
  const GroupState& group = state.group_of(id);
  const auto dropped = dropped_of(state, id);
  committer.set_members(*group.set, group.set_revision);
  committer.forget(dropped);
  committer.forget_only(dropped);
  Result<> first;
  const auto hands_over = hand_over(state, id, committer);
  if (!hands_over) note_first(first, fail(hands_over.error()));
  if (hands_over && *hands_over) return first;
  if (id.empty()) {
    note_first(first, remove_marks(state));
    note_first(first, admit_members(state));
  } else {
    note_first(first, keep_members(state, id, committer));
    follow_first_part(state, id);
  }
  note_first(first, trim(state, id, committer));
  return first;
}

Result<> NodeImpl::campaign(const ClusterState& state, const std::string& id) {
  const GroupState& group = state.group_of(id);
  const LeaseId lease = lease_;
  const bool is_of_before = group.leader == self_;
  if (!group.set->is_active(self_) || lease == 0) return {};
  const Standing& standing = standings_[id];
  if (!is_of_before && Clock::now() < standing.next_campaign) return {};
  // Another node shall lead. If none does in time, this one is better than none.
  const bool drains = state.draining.contains(self_) && has_other_leader(state, group, self_);
  const bool is_new = Clock::now() - standing.leaderless_since < kLeaderlessPatience;
  if (!is_of_before && drains && is_new) return {};
  const std::string key = keys_.leader(id);
  Transaction change;
  change.conditions = {{keys_.set(id), Condition::What::kModRevision, group.set_revision}};
  if (is_of_before) {
    // Of this node's life before: only one process uses its data directory.
    change.conditions.push_back({key, Condition::What::kCreateRevision, group.epoch});
    change.writes = {{key}};
  } else {
    change.conditions.push_back({key, Condition::What::kVersion, 0});
    change.writes = {{key, std::to_string(self_), {}, lease}};
  }
  QV_TRY(ledger_.transact(change));
  wake();
  return {};
}

/// One question for all groups that a node leads.
Result<> NodeImpl::depose_gone(const ClusterState& state) {
  std::map<NodeId, std::vector<std::string>> led;
  const auto add = [&](const std::string& id, const GroupState& group) {
    if (group.leader == 0 || group.leader == self_ || !group.set->is_active(self_)) return;
    if (group.has(group.leader)) led[group.leader].push_back(id);
  };
  add("", state);
  for (const auto& [id, group] : state.placed) add(id, group);
  Result<> first;
  for (const auto& [leader, groups] : led) note_first(first, depose(state, leader, groups));
  return first;
}

Result<> NodeImpl::depose(const ClusterState& state, NodeId leader,
                          const std::vector<std::string>& groups) {
  const auto& members = state.group_of(groups.front()).set->members;
  const auto answer = peers_.call(members.at(leader).address.peer, kGetApplied, {});
  const bool is_gone = !answer && answer.error().code() == Code::kUnavailable;
  int& n_unanswered = n_unanswered_[leader];
  n_unanswered = is_gone ? n_unanswered + 1 : 0;
  const auto now = Clock::now();
  if (!is_gone || now < next_deposing_[leader]) return {};
  if (n_unanswered < kUnanswered) {
    std::this_thread::sleep_for(kAskAgain);
    wake();
    return {};
  }
  next_deposing_[leader] = now + kDeposingPause;
  n_unanswered = 0;
  log_warning("node {}, which leads, cannot be reached: {}", leader, answer.error().message());
  for (const auto& id : groups) {
    const GroupState& group = state.group_of(id);
    Transaction change;
    change.conditions = {{keys_.set(id), Condition::What::kModRevision, group.set_revision},
                         {keys_.leader(id), Condition::What::kCreateRevision, group.epoch}};
    change.writes = {{keys_.leader(id)}};
    QV_TRY(ledger_.transact(change));
  }
  wake();
  return {};
}

/// Nothing can be committed under an older epoch any more, so what the ledger shows now is all. A
/// shard whose entries this node lacks takes no changes: their numbers are not free.
Result<> NodeImpl::take_over(const ClusterState& state, const std::string& id) {
  const GroupState& group = state.group_of(id);
  Standing& standing = standings_[id];
  auto caught_up = catch_up(state, id);
  const auto now = Clock::now();
  if (!standing.holds_key_since) standing.holds_key_since = now;
  const bool is_forced = now - standing.leaderless_since > kLeaderlessPatience + kKeyPatience;
  // A copy would take the place of what this node leads: `receive_collection` asks, too.
  const bool is_copied = is_copying(state, id);
  if (caught_up && is_copied) caught_up = fail(Code::kUnavailable, "a copy is on its way");
  if (!caught_up && (!is_forced || is_copied)) {
    const auto last_good = std::max(*standing.holds_key_since, standing.advanced_at);
    if (now - last_good > kKeyPatience) QV_TRY(give_up_key(state, id));
    return caught_up;
  }
  standing.holds_key_since.reset();
  auto committer = committer_of(id);
  if (committer == nullptr) {
    committer = make_committer(id);
    MutexLock lock(groups_mutex_);
    committers_[id] = committer;
  }
  committer->lead({group.epoch, *group.set, group.set_revision}, tails_of(state, id));
  log_info("this node leads {}, epoch {}", describe(id), group.epoch);
  return caught_up;
}

Result<> NodeImpl::give_up_key(const ClusterState& state, const std::string& id) {
  log_warning("this node lacks entries and cannot lead {}; another one may", describe(id));
  Standing& standing = standings_[id];
  standing.holds_key_since.reset();
  standing.next_campaign = Clock::now() + kCampaignPause;
  Transaction change;
  change.conditions = {
      {keys_.leader(id), Condition::What::kCreateRevision, state.group_of(id).epoch}};
  change.writes = {{keys_.leader(id)}};
  QV_TRY(ledger_.transact(change));
  return {};
}

void NodeImpl::step_down(const std::string& id) {
  const auto committer = committer_of(id);
  if (committer != nullptr) committer->follow();
  log_warning("this node does not lead {} any more", describe(id));
}

}  // namespace quiver::cluster

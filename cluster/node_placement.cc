// Collections that are on some nodes only: which nodes, and how they move. docs/decisions/0072.
#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "cluster/moves.h"
#include "cluster/node_impl.h"
#include "cluster/parts/part_calls.h"
#include "cluster/replica_changes.h"
#include "payload/json/document.h"

namespace quiver::cluster {
namespace {

using engine::EntryId;
using engine::ShardName;
using Clock = std::chrono::steady_clock;

/// Requests that came while this node held the collection are over then.
constexpr std::chrono::seconds kGonePause{5};
/// A joining replica that has almost everything is waited for while no entry is committed.
constexpr std::uint64_t kFewReplicaEntries = 200;
/// Changes that came before the handing over have reached the log then.
constexpr std::chrono::milliseconds kHandOverPause{150};

/// Copies that the client asked for; 0: it did not.
std::uint64_t wanted_factor(const engine::CollectionConfig& config) {
  const auto wire = payload::parse_json(config.client_settings);
  if (!wire || wire->as_object() == nullptr) return 0;
  return wire->find_unsigned("replication_factor").value_or(0);
}

/// True if each shard is to have nodes of its own.
bool wants_parts(const engine::CollectionConfig& config) {
  if (config.shard_number < 2 || config.shard_number > kMaxParts) return false;
  if (config.sharding != engine::ShardingMethod::kAuto || config.tenant_quota) return false;
  const auto wire = payload::parse_json(config.client_settings);
  const payload::Value* together = wire ? wire->find("shards_together") : nullptr;
  const bool* is_set = together == nullptr ? nullptr : together->as_bool();
  return is_set == nullptr || !*is_set;
}

bool all_know_parts(const ClusterState& state) {
  for (const auto& [node, address] : state.alive) {
    const auto known = state.part_calls.find(node);
    if (known != state.part_calls.end() && known->second == kPartCallsVersion) continue;
    log_warning("shards of a new collection stay together: the node at {} runs another version",
                address.peer);
    return false;
  }
  return true;
}

/// `factor` nodes that are alive and do not drain.
Result<MemberSet> least_loaded(const ClusterState& state, std::uint64_t factor,
                               std::map<NodeId, std::size_t>& loads) {
  std::vector<std::pair<std::size_t, NodeId>> nodes;
  for (const auto& [node, address] : state.alive) {
    const bool is_fit = state.set->is_active(node) && !state.draining.contains(node);
    if (is_fit) nodes.emplace_back(loads[node], node);
  }
  if (nodes.size() < factor) {
    return fail(Code::kUnavailable,
                fmt::format("replication_factor {} wants as many nodes, and {} are alive and do "
                            "not drain",
                            factor, nodes.size()));
  }
  std::ranges::sort(nodes);
  MemberSet set;
  set.cluster = state.set->cluster;
  set.n_nodes = static_cast<std::uint32_t>(factor);
  for (std::size_t i = 0; i < factor; ++i) {
    const NodeId node = nodes[i].second;
    set.members[node] = {state.alive.at(node), MemberState::kActive};
  }
  return set;
}

PlacementView::State state_of_replica(MemberState state) {
  switch (state) {
    case MemberState::kActive:
      return PlacementView::State::kActive;
    case MemberState::kLeaving:
      return PlacementView::State::kLeaving;
    case MemberState::kJoining:
      break;
  }
  return PlacementView::State::kJoining;
}

}  // namespace

// Where it is.

Result<std::optional<NodeAddress>> NodeImpl::leader_of(std::string_view collection) const {
  const auto state = state_.load();
  if (state == nullptr || state->placed.empty()) return leader();
  if (state->n_parts(collection) > 0) return std::optional<NodeAddress>();  // any node asks them
  const auto* found = state->find(collection);
  const std::string id = found == nullptr ? "" : found->second.config.cluster_id;
  if (!state->is_placed(id)) return leader();
  const GroupState& group = state->group_of(id);
  if (is_handing_over(id)) {
    return fail(Code::kUnavailable, "another node is about to lead the collection");
  }
  if (leads(id)) return std::optional<NodeAddress>();
  const auto address = state->alive.find(group.leader);
  if (group.leader != 0 && group.leader != self_ && address != state->alive.end()) {
    return std::optional(address->second);
  }
  return fail(Code::kUnavailable,
              fmt::format("no node leads collection `{}` at the moment: {} of its {} nodes must "
                          "be alive",
                          found->first, group.set->quorum(), group.set->members.size()));
}

std::optional<Holders> NodeImpl::holders(std::string_view collection) const {
  const auto state = state_.load();
  if (state == nullptr || state->placed.empty()) return std::nullopt;
  const auto* found = state->find(collection);
  if (found == nullptr) return std::nullopt;
  const auto placed = state->placed.find(found->second.config.cluster_id);
  if (placed == state->placed.end()) return std::nullopt;
  const MemberSet& set = *placed->second.set;
  Holders holders;
  holders.is_here = set.answers_reads(self_) && local_->exists(found->first);
  std::vector<NodeAddress> gone;
  for (const auto& [node, member] : set.members) {
    if (node == self_ || !set.answers_reads(node)) continue;
    (state->alive.contains(node) ? holders.others : gone).push_back(member.address);
  }
  // Each node asks another one first, the same one while that is fast: it may keep what others do
  // not.
  auto& others = holders.others;
  if (!others.empty()) {
    const auto first = static_cast<std::ptrdiff_t>(self_ / 2 % others.size());
    std::rotate(others.begin(), others.begin() + first, others.end());
  }
  holders.patience = answer_times_.order(others);
  others.insert(others.end(), gone.begin(), gone.end());
  return holders;
}

PlacementView NodeImpl::view_of(const ClusterState& state, const std::string& name,
                                const std::set<NodeId>& departing) const {
  const engine::CollectionConfig& config = state.collections.at(name).config;
  const GroupState& group = state.group_of(config.cluster_id);
  PlacementView view;
  view.name = view.collection = name;
  if (auto part = parse_part_name(name)) {
    view.collection = std::move(part->collection);
    view.shard = part->part;
  }
  view.config = config;
  view.factor = group.set->n_nodes;
  view.write_quorum = group.set->quorum();
  view.leader = group.leader;
  view.epoch = group.epoch;
  for (const auto& [node, member] : group.set->members) {
    view.replicas.push_back({node, member.address, state.alive.contains(node),
                             state_of_replica(member.state), member.replaces});
  }
  view.trouble = move_trouble(state, group, departing);
  return view;
}

std::vector<PlacementView> NodeImpl::placements() const {
  std::vector<PlacementView> views;
  const auto state = state_.load();
  if (state == nullptr || state->placed.empty()) return views;
  const auto departs = departing(*state);
  for (const auto& [name, record] : state->collections) {
    const bool is_placed = state->is_placed(record.config.cluster_id);
    if (is_placed) views.push_back(view_of(*state, name, departs));
  }
  return views;
}

std::optional<PlacementView> NodeImpl::placement(std::string_view collection) const {
  const auto state = state_.load();
  if (state == nullptr || state->placed.empty()) return std::nullopt;
  const auto* found = state->find(collection);
  if (found == nullptr || !state->is_placed(found->second.config.cluster_id)) return std::nullopt;
  return view_of(*state, found->first, departing(*state));
}

Result<> NodeImpl::check_held(const std::string& collection) const {
  const auto there = holders(collection);
  if (!there || there->is_here) return {};
  std::string nodes;
  for (const auto& address : there->others) nodes += (nodes.empty() ? "" : ", ") + address.http;
  return fail(Code::kFailedPrecondition,
              fmt::format("collection `{}` is not on this node: its snapshots are made and kept on "
                          "{}",
                          collection, nodes));
}

// Where it shall be.

Result<ClusterState> NodeImpl::fetch_state() {
  QV_TRY(const auto answer, ledger_.range({keys_.state(), prefix_end(keys_.state())}));
  QV_TRY(auto state, parse_state(keys_, answer));
  QV_TRY(check_cluster(state));
  if (state.set) return state;
  return fail(Code::kUnavailable, "the ledger has no nodes");
}

Result<std::vector<MemberSet>> NodeImpl::place(const engine::CollectionConfig& config) {
  return place_parts(config, wants_parts(config) ? config.shard_number : 1);
}

/// For each part in turn those with the fewest shards, then with the lowest ids.
Result<std::vector<MemberSet>> NodeImpl::place_parts(const engine::CollectionConfig& config,
                                                     std::uint32_t n_parts) {
  const std::uint64_t factor = wanted_factor(config);
  if (factor == 0) return std::vector<MemberSet>();
  QV_TRY(const auto state, fetch_state());
  if (factor >= state.set->n_nodes) return std::vector<MemberSet>();
  for (const auto& [node, address] : state.alive) {
    if (state.can_place.contains(node)) continue;
    log_warning(
        "a collection with replication_factor {} is made on all nodes: the node at {} runs "
        "a version without placement",
        factor, address.peer);
    return std::vector<MemberSet>();
  }
  const bool is_spread = n_parts > 1 && all_know_parts(state);
  auto loads = loads_of(state);
  std::vector<MemberSet> sets(is_spread ? n_parts : 1);
  for (auto& set : sets) {
    QV_TRY(set, least_loaded(state, factor, loads));
    for (const auto& [node, member] : set.members) {
      loads[node] += is_spread ? 1 : engine::shard_numbers(config).size();
    }
  }
  return sets;
}

Result<> NodeImpl::change_replicas(std::string_view collection, const ReplicaChange& change) {
  QV_TRY(const auto state, fetch_state());
  const auto* found = state.find(collection);
  if (found == nullptr) {
    const std::string name(collection);
    return fail(Code::kNotFound, Subject::kCollection, name,
                fmt::format("collection `{}` does not exist", name));
  }
  const std::string& id = found->second.config.cluster_id;
  if (!state.is_placed(id)) {
    return fail(Code::kFailedPrecondition,
                fmt::format("collection `{}` is on all nodes: only one that was made with "
                            "a `replication_factor` below {} can be moved",
                            found->first, state.set->n_nodes));
  }
  QV_TRY(check_leads(id));
  MemberSet set = *state.group_of(id).set;
  QV_TRY(apply_change(state, change, set));
  if (set == *state.group_of(id).set) return {};
  QV_TRY(change_group(state, id, set));
  wake_nodes();
  return {};
}

Result<> NodeImpl::change_group(const ClusterState& state, const std::string& id,
                                const MemberSet& set) {
  const auto committer = committer_of(id);
  if (committer == nullptr) return check_leads(id);
  const std::string leader = keys_.leader(id);
  Transaction change;
  change.conditions = {
      {keys_.set(id), Condition::What::kModRevision, state.group_of(id).set_revision},
      {leader, Condition::What::kCreateRevision, committer->epoch()}};
  change.writes = {{keys_.set(id), encode_set(set)}};
  if (!set.is_active(self_)) change.writes.push_back({leader});
  QV_TRY(const auto outcome, ledger_.transact(change));
  wake();  // the new revision counts once it is read
  if (outcome.succeeded) return {};
  return fail(Code::kUnavailable, "the nodes of the collection have changed meanwhile, try again");
}

// The leader of a collection, at each look.

Result<> NodeImpl::keep_members(const ClusterState& state, const std::string& id,
                                Committer& committer) {
  const GroupState& group = state.group_of(id);
  MemberSet set = *group.set;
  for (auto& [node, member] : set.members) {
    const auto alive = state.alive.find(node);
    if (alive != state.alive.end()) member.address = alive->second;
  }
  if (!replace_lost(state, set)) plan_move(state, id, set);
  if (set != *group.set) {
    QV_TRY(change_group(state, id, set));
    wake_nodes();
    return {};
  }
  const NodeId joining = set.find(MemberState::kJoining);
  const NodeId leaving = set.find(MemberState::kLeaving);
  if (leaving != self_) set_handing_over(id, false);
  if (joining != 0 && state.alive.contains(joining)) {
    return promote_replica(state, id, joining, committer);
  }
  return leaving == 0 ? Result<>() : remove_replica(state, id, leaving, committer);
}

/// A replica counts once it has applied, and so stored, everything that is committed. The one whose
/// place it takes answers no reads from then on.
Result<> NodeImpl::promote_replica(const ClusterState& state, const std::string& id, NodeId joining,
                                   Committer& committer) {
  constexpr std::chrono::milliseconds kPatience{100};
  if (committer.lag_of(joining) > kFewReplicaEntries) return {};
  return committer.between_commits([&](const std::map<ShardName, EntryId>& tails) -> Result<> {
    if (!committer.wait_until_applied(joining, kPatience)) return {};  // later
    MemberSet set = *state.group_of(id).set;
    auto& member = set.members.at(joining);
    // Asked directly: what it told before may be of an earlier time with the collection.
    QV_TRY(const bool has_everything, has_all(member.address, tails));
    if (!has_everything) return {};
    member.state = MemberState::kActive;
    const auto leaving = set.members.find(std::exchange(member.replaces, 0));
    if (leaving != set.members.end()) leaving->second.state = MemberState::kLeaving;
    QV_TRY(change_group(state, id, set));
    log_info("node {} has collection {} and counts from now on", joining, id);
    return {};
  });
}

/// A majority of the others must have everything: an entry may be on it and on too few of them. It
/// must know that it answers no reads any more, or be gone.
Result<> NodeImpl::remove_replica(const ClusterState& state, const std::string& id, NodeId leaving,
                                  Committer& committer) {
  const GroupState& group = state.group_of(id);
  const auto& address = group.set->members.at(leaving).address;
  MemberSet set = *group.set;
  set.members.erase(leaving);
  if (leaving != self_ && state.alive.contains(leaving)) {
    QV_TRY(const bool knows, has_seen(address, group.set_revision));
    if (!knows) return {};
  }
  if (leaving == self_) {
    // Changes wait for the next leader from here on, so the others must be ready.
    if (!majority_has_all(state, set, tails_of(state, id))) return {};
    if (!is_ready_to_hand_over(id, committer)) return {};
  }
  auto removed =
      committer.between_commits([&](const std::map<ShardName, EntryId>& tails) -> Result<> {
        if (!majority_has_all(state, set, tails)) return {};  // later
        QV_TRY(change_group(state, id, set));
        if (leaving == self_) committer.follow();
        log_info("node {} does not have collection {} any more", leaving, id);
        return {};
      });
  set_handing_over(id, false);
  QV_TRY(std::move(removed));
  wake_nodes();
  return {};
}

Result<bool> NodeImpl::has_all(const NodeAddress& address,
                               const std::map<ShardName, EntryId>& tails) const {
  std::string question;
  for (const auto& [shard, tail] : tails) append_entry(shard, tail, {}, question);
  QV_TRY(const auto answer, peers_.call(address.peer, kGetApplied, question));
  QV_TRY(const auto applied, read_numbers(answer));
  if (applied.size() != tails.size()) return false;
  std::size_t i = 0;
  return std::ranges::all_of(tails,
                             [&](const auto& tail) { return applied[i++] >= tail.second.number; });
}

Result<bool> NodeImpl::has_seen(const NodeAddress& address, Revision revision) const {
  QV_TRY(const auto answer, peers_.call(address.peer, kGetSeen, {}));
  QV_TRY(const auto seen, read_numbers(answer));
  return seen.size() == 1 && seen[0] >= static_cast<std::uint64_t>(revision);
}

bool NodeImpl::is_ready_to_hand_over(const std::string& id, const Committer& committer) {
  set_handing_over(id, true);
  std::this_thread::sleep_for(kHandOverPause);
  if (committer.n_pending() == 0) return true;
  wake();
  return false;
}

bool NodeImpl::is_handing_over(const std::string& id) const {
  MutexLock lock(mutex_);
  return handing_over_.contains(id);
}

void NodeImpl::set_handing_over(const std::string& id, bool is_handing_over) {
  MutexLock lock(mutex_);
  if (is_handing_over) {
    handing_over_.insert(id);
  } else {
    handing_over_.erase(id);
  }
}

/// Those that cannot be reached look within half a second.
void NodeImpl::wake_nodes() {
  const auto state = state_.load();
  std::vector<std::thread> calls;
  for (const auto& [node, address] : state->alive) {
    if (node == self_) continue;
    calls.emplace_back([this, peer = address.peer] {
      (void)guarded([&] { return peers_.call(peer, kWake, {}); });
    });
  }
  for (auto& call : calls) call.join();
}

bool NodeImpl::is_gone_long(const std::string& id) {
  const auto now = Clock::now();
  const auto since = gone_since_.try_emplace(id, now).first->second;
  if (now - since < kGonePause) return false;
  gone_since_.erase(id);
  return true;
}

}  // namespace quiver::cluster

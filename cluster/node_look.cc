// What a node does each time it looks at the ledger.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "cluster/node_impl.h"

namespace quiver::cluster {
namespace {

using engine::EntryId;
using engine::EntryNumber;
using engine::ShardName;

constexpr std::chrono::milliseconds kInterval{500};
/// The leader is gone if it cannot be reached so often, so far apart.
constexpr int kUnanswered = 3;
constexpr std::chrono::milliseconds kAskAgain{100};
constexpr std::chrono::seconds kDeposingPause{10};

}  // namespace

void NodeImpl::look_until_stopped() {
  while (true) {
    std::uint64_t wanted = 0;
    {
      MutexLock lock(mutex_);
      if (n_wanted_ == n_looked_ && !stopped_) changed_.wait_for(mutex_, kInterval);
      if (stopped_) return;
      wanted = n_wanted_;
    }
    run_logged("looking at the ledger", [this] { look(); });
    MutexLock lock(mutex_);
    n_looked_ = wanted;
    changed_.notify_all();
  }
}

/// Each step is tried again at the next look; what went wrong is logged once.
void NodeImpl::look() {
  const auto done = guarded([this]() -> Result<> {
    QV_TRY(const auto state, adopt_catalog());
    if (!state->set) return found(*state);
    const bool is_ours = state->leader == self_ && state->leader_lease == lease_;
    if (committer_.leads() && (!is_ours || state->epoch != committer_.epoch())) step_down();
    if (is_ours && !committer_.leads()) return take_over(*state);
    if (committer_.leads()) {
      committer_.set_members(*state->set, state->set_revision);
      QV_TRY(admit_members(*state));
      QV_TRY(trim(*state));
    }
    auto caught_up = catch_up(*state);
    trim_here(*state);
    copies_.close_idle();
    if (state->leader == 0 || (state->leader == self_ && !is_ours)) QV_TRY(campaign(*state));
    if (state->leader != 0 && state->leader != self_) QV_TRY(depose_if_gone(*state));
    return caught_up;
  });
  const std::string trouble = done ? "" : done.error().message();
  if (trouble != last_trouble_ && !trouble.empty()) log_warning("cluster: {}", trouble);
  last_trouble_ = trouble;
}

Result<std::shared_ptr<const ClusterState>> NodeImpl::read_state() {
  QV_TRY(const auto answer, ledger_.range({keys_.state(), prefix_end(keys_.state())}));
  QV_TRY(auto state, parse_state(keys_, answer));
  auto shared = std::make_shared<const ClusterState>(std::move(state));
  state_.store(shared);
  return std::shared_ptr<const ClusterState>(std::move(shared));
}

/// The first node makes the set, with itself alone.
Result<> NodeImpl::found(const ClusterState&) {
  MemberSet set;
  set.n_nodes = options_.n_nodes;
  set.members[self_] = {options_.address, MemberState::kActive};
  Transaction change;
  change.conditions = {{keys_.set(), Condition::What::kVersion, 0}};
  change.writes = {{keys_.set(), encode_set(set)}};
  QV_TRY(const auto outcome, ledger_.transact(change));
  if (outcome.succeeded) log_info("cluster `{}` is founded by this node", options_.cluster_name);
  wake();
  return {};
}

Result<> NodeImpl::campaign(const ClusterState& state) {
  const LeaseId lease = lease_;
  if (!state.set->is_active(self_) || lease == 0) return {};
  Transaction change;
  change.conditions = {{keys_.set(), Condition::What::kModRevision, state.set_revision}};
  if (state.leader == self_) {
    // Of this node's life before: only one process uses its data directory.
    change.conditions.push_back({keys_.leader(), Condition::What::kCreateRevision, state.epoch});
    change.writes = {{keys_.leader()}};
  } else {
    change.conditions.push_back({keys_.leader(), Condition::What::kVersion, 0});
    change.writes = {{keys_.leader(), std::to_string(self_), {}, lease}};
  }
  QV_TRY(ledger_.transact(change));
  wake();
  return {};
}

Result<> NodeImpl::depose_if_gone(const ClusterState& state) {
  const auto leader = state.set->members.find(state.leader);
  if (!state.set->is_active(self_) || leader == state.set->members.end()) return {};
  const auto answer = peers_.call(leader->second.address.peer, kGetApplied, {});
  const bool is_gone = !answer && answer.error().code() == Code::kUnavailable;
  n_unanswered_ = is_gone ? n_unanswered_ + 1 : 0;
  const auto now = std::chrono::steady_clock::now();
  if (!is_gone || now < next_deposing_) return {};
  if (n_unanswered_ < kUnanswered) {
    std::this_thread::sleep_for(kAskAgain);
    wake();
    return {};
  }
  next_deposing_ = now + kDeposingPause;
  n_unanswered_ = 0;
  log_warning("the leader, node {}, cannot be reached: {}", state.leader, answer.error().message());
  Transaction change;
  change.conditions = {{keys_.set(), Condition::What::kModRevision, state.set_revision},
                       {keys_.leader(), Condition::What::kCreateRevision, state.epoch}};
  change.writes = {{keys_.leader()}};
  QV_TRY(ledger_.transact(change));
  wake();
  return {};
}

/// Nothing can be committed under an older epoch any more, so what the ledger shows now is all.
Result<> NodeImpl::take_over(const ClusterState& state) {
  QV_TRY(catch_up(state));
  auto tails = state.tails;
  std::erase_if(tails,
                [&](const auto& tail) { return state.name_of(tail.first.collection) == nullptr; });
  committer_.lead({state.epoch, *state.set, state.set_revision}, tails);
  log_info("this node leads the cluster, epoch {}", state.epoch);
  return {};
}

void NodeImpl::step_down() {
  committer_.follow();
  log_warning("this node does not lead the cluster any more");
}

Result<> NodeImpl::catch_up(const ClusterState& state) {
  Result<> first;
  for (const auto& [shard, tail] : state.tails) {
    // An entry that was on its way when its collection was dropped may have come after.
    if (state.name_of(shard.collection) == nullptr || !is_behind(shard, tail)) continue;
    auto applied = guarded([&] { return replicas_.apply_up_to(shard, tail); });
    if (!applied && applied.error().code() == Code::kOutOfRange) {
      log_warning("{}", applied.error().message());
      applied = guarded([&] { return copy_collection(state, shard); });
    }
    if (!applied && first) first = std::move(applied);
  }
  return first;
}

/// The copy is as new as the entries that its node had applied. Later ones follow at the next look.
Result<> NodeImpl::copy_collection(const ClusterState& state, const ShardName& shard) {
  const auto* name = state.name_of(shard.collection);
  const auto source = state.alive.find(state.leader);
  engine::Snapshots* snapshots = local_->snapshots();
  if (name == nullptr || source == state.alive.end() || state.leader == self_ ||
      snapshots == nullptr) {
    return fail(Code::kUnavailable, "no node leads that could send a copy");
  }
  MutexLock lock(catalog_mutex_);
  QV_TRY(fetch_copy(peers_, source->second.peer, *name, *snapshots));
  log_info("collection `{}` was copied from node {}", *name, state.leader);
  wake();
  return {};
}

bool NodeImpl::is_behind(const ShardName& shard, const EntryId& tail) {
  const auto replica = replicas_.find(shard);
  const EntryNumber applied = replica ? (*replica)->applied() : 0;
  if (applied >= tail.number) {
    behind_.erase(shard);
    return false;
  }
  if (!committer_.leads()) return true;
  const auto [before, is_new] = behind_.try_emplace(shard, applied);
  return !is_new && std::exchange(before->second, applied) == applied;
}

// The catalog.

/// The state is read while no change of the catalog is half-way between the ledger and here.
Result<std::shared_ptr<const ClusterState>> NodeImpl::adopt_catalog() {
  MutexLock lock(catalog_mutex_);
  QV_TRY(auto state, read_state());
  if (!state->set) return state;
  QV_TRY(drop_others(*state));
  QV_TRY(adopt_collections(*state));
  QV_TRY(adopt_aliases(*state));
  adopted_catalog_ = state->catalog_revision();
  return state;
}

/// Collections that the ledger does not know any more.
Result<> NodeImpl::drop_others(const ClusterState& state) {
  for (const auto& name : local_->collection_names()) {
    const auto collection = local_->collection(name);
    if (!collection) continue;  // it cannot be opened now; `ready` tells
    const std::string id = (*collection)->config()->cluster_id;
    const auto known = state.collections.find(name);
    if (id.empty() || (known != state.collections.end() && known->second.config.cluster_id == id)) {
      continue;
    }
    log_info("collection `{}` was dropped from the cluster", name);
    QV_TRY(local_->drop_collection(name));
  }
  return {};
}

Result<> NodeImpl::adopt_collections(const ClusterState& state) {
  Result<> first;
  for (const auto& [name, record] : state.collections) {
    auto adopted = guarded([&] { return adopt_collection(name, record); });
    if (!adopted && first) first = std::move(adopted);
  }
  return first;
}

Result<> NodeImpl::adopt_collection(const std::string& name, const CollectionRecord& record) {
  const auto names = local_->collection_names();
  if (std::ranges::find(names, name) == names.end()) {
    return local_->create_collection(name, record.config);
  }
  QV_TRY(const auto collection, local_->collection(name));
  const auto config = collection->config();
  if (config->cluster_id.empty()) {
    return fail(Code::kFailedPrecondition,
                fmt::format("collection `{}` was made on this node alone, and the cluster has "
                            "another of this name",
                            name));
  }
  // A leader's own change is in the ledger before it is here.
  if (committer_.leads() || engine::to_json(*config) == engine::to_json(record.config)) return {};
  return collection->adopt_config(record.config);
}

Result<> NodeImpl::adopt_aliases(const ClusterState& state) {
  std::vector<engine::AliasAction> actions;
  const auto here = aliases();
  for (const auto& [alias, name] : here) {
    if (!state.aliases.contains(alias)) actions.emplace_back(engine::DeleteAlias{alias});
  }
  for (const auto& [alias, name] : state.aliases) {
    const auto found = here.find(alias);
    if (found == here.end() || found->second != name) {
      actions.emplace_back(engine::CreateAlias{name, alias});
    }
  }
  if (actions.empty()) return {};
  return local_->update_aliases(actions);
}

// Members.

/// Nodes that are alive and not in the set join it, while it is not full or in the place of a node
/// that is gone and had the same address.
Result<> NodeImpl::admit_members(const ClusterState& state) {
  MemberSet set = *state.set;
  for (const auto& [id, address] : state.alive) {
    const auto found = set.members.find(id);
    if (found != set.members.end()) {
      found->second.address = address;
      continue;
    }
    const auto before = std::ranges::find_if(set.members, [&](const auto& member) {
      return member.second.address.peer == address.peer && !state.alive.contains(member.first);
    });
    if (before != set.members.end()) {
      log_warning("node {} takes the place of node {} at {}", id, before->first, address.peer);
      set.members.erase(before);
    }
    if (set.members.size() >= set.n_nodes) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("node {} at {} cannot join: the cluster has its {} nodes", id,
                              address.peer, set.n_nodes));
    }
    set.members[id] = {address, MemberState::kJoining};
    log_info("node {} at {} joins the cluster", id, address.peer);
  }
  if (set != *state.set) return change_set(set, state.set_revision);
  for (const auto& [id, member] : set.members) {
    if (member.state == MemberState::kJoining && state.alive.contains(id)) {
      return promote(state, id);  // one change of the set at a time
    }
  }
  return {};
}

/// A member counts once it has applied, and so stored, everything that is committed.
Result<> NodeImpl::promote(const ClusterState& state, NodeId joining) {
  return committer_.between_commits([&](const std::map<ShardName, EntryId>& tails) -> Result<> {
    std::string question;
    for (const auto& [shard, tail] : tails) append_entry(shard, tail, {}, question);
    QV_TRY(const auto answer, peers_.call(state.alive.at(joining).peer, kGetApplied, question));
    QV_TRY(const auto applied, read_numbers(answer));
    if (applied.size() != tails.size()) return {};
    std::size_t i = 0;
    for (const auto& [shard, tail] : tails) {
      if (applied[i++] < tail.number) return {};  // later
    }
    MemberSet set = *state.set;
    set.members.at(joining).state = MemberState::kActive;
    return change_set(set, state.set_revision);
  });
}

Result<> NodeImpl::change_set(const MemberSet& set, Revision known) {
  Transaction change;
  change.conditions = {{keys_.set(), Condition::What::kModRevision, known},
                       {keys_.leader(), Condition::What::kCreateRevision, committer_.epoch()}};
  change.writes = {{keys_.set(), encode_set(set)}};
  QV_TRY(ledger_.transact(change));
  wake();  // the new revision counts once it is read
  return {};
}

// Trimming.

/// Entries that every node has applied are dropped, but for the newest.
Result<> NodeImpl::trim(const ClusterState& state) {
  Transaction change;
  for (const auto& [shard, tail] : state.tails) {
    if (state.name_of(shard.collection) == nullptr) {
      QV_TRY(remove_log(shard.collection));
      continue;
    }
    const EntryNumber everywhere = committer_.applied_everywhere(shard);
    const auto base = state.bases.find(shard);
    const EntryNumber kept_from = base == state.bases.end() ? 1 : base->second;
    // In steps: each is a transaction.
    if (everywhere < kept_from + options_.log_keep_entries + options_.log_keep_entries / 10 + 1) {
      continue;
    }
    const EntryNumber first = everywhere - options_.log_keep_entries;
    change.writes.push_back(
        {keys_.header(shard, kept_from), std::nullopt, keys_.header(shard, first)});
    change.writes.push_back({keys_.base(shard), std::to_string(first)});
    if (change.writes.size() >= kMaxOperations / 2) break;
  }
  if (change.writes.empty()) return {};
  change.conditions = {{keys_.leader(), Condition::What::kCreateRevision, committer_.epoch()}};
  QV_TRY(ledger_.transact(change));
  return {};
}

Result<> NodeImpl::remove_log(const std::string& cluster_id) {
  Transaction change;
  change.conditions = {{keys_.leader(), Condition::What::kCreateRevision, committer_.epoch()}};
  for (const auto& prefix :
       {keys_.tails_of(cluster_id), keys_.bases_of(cluster_id), keys_.headers_of(cluster_id)}) {
    change.writes.push_back({prefix, std::nullopt, prefix_end(prefix)});
  }
  QV_TRY(ledger_.transact(change));
  return {};
}

void NodeImpl::trim_here(const ClusterState& state) {
  for (const auto& [shard, base] : state.bases) {
    EntryNumber& trimmed = trimmed_[shard];
    const auto replica = replicas_.find(shard);
    if (trimmed >= base || !replica || (*replica)->applied() < base) continue;
    if (auto done = (*replica)->trim(base); done) trimmed = base;
  }
}

}  // namespace quiver::cluster

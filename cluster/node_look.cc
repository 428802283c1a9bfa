// What a node does each time it looks at the ledger.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "cluster/identity.h"
#include "cluster/node_impl.h"

namespace quiver::cluster {
namespace {

using engine::EntryId;
using engine::EntryNumber;
using engine::ShardName;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kInterval{500};
constexpr std::chrono::seconds kReplacingPause{10};
/// A joining node that has almost everything is waited for while no entry is committed.
constexpr std::uint64_t kFewEntries = 200;
constexpr std::chrono::milliseconds kPromotionPatience{100};

/// Remembers the first error.
void note(Result<>& first, Result<> done) {
  if (!done && first) first = std::move(done);
}

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

/// Each step is tried again at the next look; what went wrong is logged once. What one collection
/// or one other node cannot do must not keep the rest from being done.
void NodeImpl::look() {
  const auto done = guarded([this]() -> Result<> {
    Result<> first;
    const auto archives = restores_.ids();
    QV_TRY(const auto state, adopt_catalog(first));
    if (!state->set) return found();
    note_away(*state);
    departing_ = departing(*state);
    note(first, repeat_alive(*state));
    note(first, replace_misfits(*state));
    note(first, keep_group(*state, ""));
    for (const auto& [id, group] : state->placed) {
      if (group.has(self_) || leads(id)) note(first, keep_group(*state, id));
    }
    forget_groups(*state);
    trim_here(*state);
    copies_.close_idle();
    remove_archives(*state, archives);
    note(first, depose_gone(*state));
    return first;
  });
  const std::string trouble = done ? "" : done.error().message();
  if (trouble != last_trouble_ && !trouble.empty()) log_warning("cluster: {}", trouble);
  last_trouble_ = trouble;
}

/// What was applied here is read first: the ledger must know all of it.
Result<std::shared_ptr<const ClusterState>> NodeImpl::read_state() {
  const auto applied = applied_here();
  QV_TRY(const auto answer, ledger_.range({keys_.state(), prefix_end(keys_.state())}));
  QV_TRY(auto state, parse_state(keys_, answer));
  auto fine = check_cluster(state);
  if (fine) fine = check_tails(state, applied);
  if (fine && state.set && cluster_id().empty()) fine = belong_to(state.set->cluster);
  {
    MutexLock lock(mutex_);
    refusal_ = fine ? "" : fine.error().message();
  }
  if (!fine && committer_->leads()) step_down("");
  if (!fine) follow_all();
  QV_TRY(std::move(fine));
  note_groups(state);
  auto shared = std::make_shared<const ClusterState>(std::move(state));
  state_.store(shared);
  return std::shared_ptr<const ClusterState>(std::move(shared));
}

Result<> NodeImpl::check_cluster(const ClusterState& state) const {
  const std::string ours = cluster_id();
  const std::string theirs = state.set ? state.set->cluster : "";
  if (!ours.empty() && ours == theirs) return {};
  if (!ours.empty()) {
    return fail(
        Code::kFailedPrecondition,
        fmt::format("this node belongs to cluster {}, and the ledger has {} under the name "
                    "`{}`: it is another ledger, or has lost its data. The node changes "
                    "nothing and takes no part",
                    ours, theirs.empty() ? "none" : "cluster " + theirs, options_.cluster_name));
  }
  for (const auto& name : local_->collection_names()) {
    const auto collection = local_->collection(name);
    if (!collection) continue;
    const std::string id = (*collection)->config()->cluster_id;
    if (!id.empty() && state.name_of(id) == nullptr) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("this node holds collection `{}` of a cluster, and the ledger does "
                              "not know it. The node changes nothing and takes no part",
                              name));
    }
  }
  return {};
}

Result<> NodeImpl::belong_to(const std::string& cluster) {
  QV_TRY(keep_cluster_id(options_.data_dir, cluster));
  MutexLock lock(mutex_);
  cluster_id_ = cluster;
  return {};
}

/// Of the shards that the ledger had at the last look.
std::map<ShardName, EntryNumber> NodeImpl::applied_here() const {
  std::map<ShardName, EntryNumber> applied;
  const auto state = state_.load();
  if (state == nullptr) return applied;
  for (const auto& [shard, tail] : state->tails) {
    const auto replica = replicas_.find(shard);
    if (replica) applied[shard] = (*replica)->applied();
  }
  return applied;
}

Result<> NodeImpl::check_tails(const ClusterState& state,
                               const std::map<ShardName, EntryNumber>& applied) const {
  for (const auto& [shard, number] : applied) {
    if (state.dropped.contains(shard) || state.name_of(shard.collection) == nullptr) continue;
    const auto tail = state.tails.find(shard);
    const EntryNumber known = tail == state.tails.end() ? 0 : tail->second.number;
    if (number <= known) continue;
    return fail(
        Code::kFailedPrecondition,
        fmt::format("the ledger has lost entries: it knows {} of shard {}/{}, and this node "
                    "has applied {}. The node changes nothing and takes no part",
                    known, shard.collection, shard.shard, number));
  }
  return {};
}

/// The first node makes the set, with itself alone.
Result<> NodeImpl::found() {
  MemberSet set;
  set.cluster = random_cluster_id();
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

Result<> NodeImpl::repeat_alive(const ClusterState& state) {
  const LeaseId lease = lease_;
  const auto bound_to = state.alive_leases.find(self_);
  if (lease == 0 || (bound_to != state.alive_leases.end() && bound_to->second == lease)) return {};
  return put_alive(lease);
}

Result<> NodeImpl::catch_up(const ClusterState& state, const std::string& id) {
  Result<> first;
  for (const auto& [shard, tail] : tails_of(state, id)) {
    if (!is_behind(shard, tail, id)) continue;
    const EntryNumber before = replicas_.applied(shard);
    auto applied =
        guarded([&, &shard = shard, &tail = tail] { return replicas_.apply_up_to(shard, tail); });
    // A collection that was restored from a snapshot cannot be made from its log.
    const auto* name = state.name_of(shard.collection);
    const bool is_missing = !applied && applied.error().code() == Code::kNotFound &&
                            name != nullptr &&
                            comes_as_copy(state, state.collections.at(*name).config);
    if (is_missing || (!applied && applied.error().code() == Code::kOutOfRange)) {
      applied = copy_collection(state, shard.collection, applied.error().message());
    } else if (!applied && replicas_.applied(shard) > before) {
      standings_[id].advanced_at = Clock::now();
      wake();
    }
    if (!applied && first) first = std::move(applied);
  }
  return first;
}

bool NodeImpl::is_behind(const ShardName& shard, const EntryId& tail, const std::string& id) {
  const EntryNumber applied = replicas_.applied(shard);
  if (applied >= tail.number) {
    behind_.erase(shard);
    return false;
  }
  if (!leads(id)) return true;
  const auto [before, is_new] = behind_.try_emplace(shard, applied);
  return !is_new && std::exchange(before->second, applied) == applied;
}

// The catalog.

/// The state is read while no change of the catalog is half-way between the ledger and here. What
/// cannot be adopted is noted in `trouble`.
Result<std::shared_ptr<const ClusterState>> NodeImpl::adopt_catalog(Result<>& trouble) {
  MutexLock lock(catalog_mutex_);
  QV_TRY(auto state, read_state());
  if (!state->set) return state;
  note(trouble, drop_others(*state));
  note(trouble, adopt_collections(*state));
  note(trouble, adopt_aliases(*state));
  thaw(*state);
  adopted_catalog_ = state->catalog_revision();
  return state;
}

bool NodeImpl::is_held_here(const ClusterState& state, const CollectionRecord& record) const {
  const std::string& id = record.config.cluster_id;
  return !state.is_placed(id) || state.group_of(id).has(self_);
}

/// Collections that the ledger does not know any more, or knows on other nodes only.
Result<> NodeImpl::drop_others(const ClusterState& state) {
  Result<> first;
  for (const auto& name : local_->collection_names()) {
    const auto collection = local_->collection(name);
    if (!collection) continue;  // it cannot be opened now; `ready` tells
    const std::string id = (*collection)->config()->cluster_id;
    const auto known = state.collections.find(name);
    const bool has_name = known != state.collections.end();
    const bool is_known = has_name && known->second.config.cluster_id == id;
    const bool is_wanted = has_name && is_held_here(state, known->second);
    if (id.empty() || (is_known && is_wanted)) {
      gone_since_.erase(id);
      continue;
    }
    if (is_known && !is_gone_long(id)) continue;
    // What was restored takes the place of what is here in one step.
    if (!is_known && is_wanted && state.needs_copy(known->second.config)) continue;
    log_info("collection `{}` {}", name,
             is_known ? "has moved to other nodes" : "was dropped from the cluster");
    const auto dropped = local_->drop_collection(name);
    if (!dropped) note(first, fail(dropped.error()));
  }
  return first;
}

Result<> NodeImpl::adopt_collections(const ClusterState& state) {
  Result<> first;
  for (const auto& [name, record] : state.collections) {
    note(first, guarded([&, &name = name, &record = record] {
           return adopt_collection(state, name, record);
         }));
  }
  return first;
}

Result<> NodeImpl::adopt_collection(const ClusterState& state, const std::string& name,
                                    const CollectionRecord& record) {
  if (!is_held_here(state, record)) return {};
  const auto names = local_->collection_names();
  const bool is_new = std::ranges::find(names, name) == names.end();
  const bool needs_copy = state.needs_copy(record.config);
  if (is_new && needs_copy) return install_restored(state, name, record.config);
  const bool leads_it = state.group_of(record.config.cluster_id).leader == self_;
  if (is_new && !leads_it && comes_as_copy(state, record.config)) return {};
  if (is_new) return local_->create_collection(name, record.config);
  QV_TRY(const auto collection, local_->collection(name));
  const auto config = collection->config();
  const bool is_another = config->cluster_id != record.config.cluster_id;
  // An archive is here if this node agreed to the restore.
  const bool is_agreed = !config->cluster_id.empty() || restores_.has(record.config.cluster_id);
  if (is_another && needs_copy && is_agreed) return install_restored(state, name, record.config);
  if (config->cluster_id.empty()) return fail(own_alone(name));
  if (engine::to_json(*config) == engine::to_json(record.config)) return {};
  // A leader's own change is in the ledger before it is here: by now it may be over.
  const auto is_current = [&]() -> Result<bool> {
    QV_TRY(const auto now, ledger_.range({keys_.collection(name)}));
    return !now.items.empty() && now.items[0].mod_revision == record.revision;
  };
  auto adopted = collection->adopt_config(record.config, is_current);
  if (!adopted && adopted.error().code() == Code::kFailedPrecondition) {
    misfits_.insert(config->cluster_id);
  }
  return adopted;
}

/// Rows here cannot follow the configuration that the ledger has: what is here is not the
/// collection of the other nodes. A copy is.
Result<> NodeImpl::replace_misfits(const ClusterState& state) {
  Result<> first;
  const auto misfits = std::exchange(misfits_, {});
  if (misfits.empty() || Clock::now() < next_replacing_) return first;
  next_replacing_ = Clock::now() + kReplacingPause;
  for (const auto& id : misfits) {
    if (leads(id)) continue;
    log_warning("collection {} cannot follow its configuration in the ledger: it is replaced", id);
    note(first, copy_collection(state, id, "it is replaced"));
  }
  return first;
}

/// Those of collections that are here. The others are told from the ledger.
Result<> NodeImpl::adopt_aliases(const ClusterState& state) {
  std::vector<engine::AliasAction> actions;
  const auto here = local_aliases();
  const auto names = local_->collection_names();
  auto wanted = state.aliases;
  std::erase_if(wanted, [&](const auto& alias) {
    return std::ranges::find(names, alias.second) == names.end();
  });
  for (const auto& [alias, name] : here) {
    if (!wanted.contains(alias)) actions.emplace_back(engine::DeleteAlias{alias});
  }
  for (const auto& [alias, name] : wanted) {
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
  Result<> stranger;
  MemberSet set = *state.set;
  for (const auto& [id, address] : state.alive) {
    const auto found = set.members.find(id);
    if (found != set.members.end()) {
      found->second.address = address;
      continue;
    }
    const auto before =
        std::ranges::find_if(set.members, [&, &address = address](const auto& member) {
          return member.second.address.peer == address.peer && !state.alive.contains(member.first);
        });
    if (before != set.members.end()) {
      log_warning("node {} takes the place of node {} at {}", id, before->first, address.peer);
      set.members.erase(before);
    }
    if (state.removed.contains(id)) continue;
    if (set.members.size() >= std::max(set.n_nodes, options_.n_nodes)) {
      stranger = fail(Code::kFailedPrecondition,
                      fmt::format("node {} at {} cannot join: the cluster has its {} nodes", id,
                                  address.peer, set.n_nodes));
      continue;
    }
    set.members[id] = {address, MemberState::kJoining};
    log_info("node {} at {} joins the cluster", id, address.peer);
  }
  if (set != *state.set) return change_set(set, state.set_revision);
  for (const auto& [id, member] : set.members) {
    const bool is_joining = member.state == MemberState::kJoining && state.alive.contains(id);
    if (is_joining && committer_->lag_of(id) <= kFewEntries) {
      QV_TRY(promote(state, id));  // one change of the set at a time
      break;
    }
  }
  return stranger;
}

/// A member counts once it has applied, and so stored, everything that is committed.
Result<> NodeImpl::promote(const ClusterState& state, NodeId joining) {
  return committer_->between_commits([&](const std::map<ShardName, EntryId>&) -> Result<> {
    if (!committer_->wait_until_applied(joining, kPromotionPatience)) return {};  // later
    MemberSet set = *state.set;
    set.members.at(joining).state = MemberState::kActive;
    set.n_nodes = std::max(set.n_nodes, set.n_active());  // after a removal
    log_info("node {} counts from now on", joining);
    return change_set(set, state.set_revision);
  });
}

Result<> NodeImpl::change_set(const MemberSet& set, Revision known) {
  Transaction change;
  change.conditions = {{keys_.set(), Condition::What::kModRevision, known},
                       {keys_.leader(), Condition::What::kCreateRevision, committer_->epoch()}};
  change.writes = {{keys_.set(), encode_set(set)}};
  QV_TRY(ledger_.transact(change));
  wake();  // the new revision counts once it is read
  return {};
}

// Trimming.

/// Entries that every node of the group has applied are dropped, but for the newest.
Result<> NodeImpl::trim(const ClusterState& state, const std::string& id,
                        const Committer& committer) {
  Transaction change;
  for (const ShardName& shard : dropped_of(state, id)) QV_TRY(remove_log(shard, id, committer));
  for (const auto& [shard, tail] : tails_of(state, id)) {
    const EntryNumber everywhere = committer.applied_everywhere(shard);
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
  change.conditions = {{keys_.leader(id), Condition::What::kCreateRevision, committer.epoch()}};
  QV_TRY(ledger_.transact(change));
  return {};
}

Result<> NodeImpl::remove_log(const ShardName& shard, const std::string& id,
                              const Committer& committer) {
  Transaction change;
  change.conditions = {{keys_.leader(id), Condition::What::kCreateRevision, committer.epoch()}};
  const std::string headers = keys_.headers_of(shard);
  change.writes = {
      {keys_.tail(shard)}, {keys_.base(shard)}, {headers, std::nullopt, prefix_end(headers)}};
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

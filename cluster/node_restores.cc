// A snapshot becomes a new state of a collection on all its nodes: docs/decisions/0059.
#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "cluster/identity.h"
#include "cluster/node_impl.h"

namespace quiver::cluster {
namespace {

using engine::EntryId;
using engine::ShardName;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kRunPatience{1};
constexpr std::chrono::milliseconds kAskLeaderAgain{100};
/// Without a leader that answers.
constexpr std::chrono::seconds kLeaderPatience{15};
constexpr std::chrono::seconds kOwnPatience{10};
constexpr std::size_t kRunsKept = 32;
/// Conditions and writes beside those of the shards.
constexpr std::size_t kOtherOperations = 8;

const std::string kRunning = "running";
const std::string kDone = "done";
const std::string kFailed = "failed";

}  // namespace

// On the node that has the archive.

Result<std::unique_ptr<Restores::Draft>> NodeImpl::begin_restore(const std::string& name,
                                                                 const std::string& checksum) {
  const auto state = state_.load();
  if (state == nullptr || !state->set) {
    return fail(Code::kUnavailable, "this node has not reached the ledger of its cluster yet");
  }
  QV_TRY(leader());
  const std::string own = state->resolve(name);
  if (is_own_alone(own) && state->has_collection(own)) {
    return fail(Code::kFailedPrecondition,
                fmt::format("collection `{}` was made on this node alone, and the cluster has "
                            "another of this name: rename or delete one of the two",
                            own));
  }
  return restores_.begin(random_cluster_id(), own, checksum, true);
}

/// The leader is asked until it says what came of it. Another leader begins anew, or finds it done.
Result<> NodeImpl::restore_everywhere(const Restores::Draft& draft) {
  const std::string message = join_texts({draft.id(), draft.name(), options_.address.peer});
  auto last_contact = Clock::now();
  std::string trouble = "no node leads";
  while (Clock::now() - last_contact < kLeaderPatience) {
    QV_TRY(check_not_stopping());
    const auto answer = guarded([&] { return ask_to_restore(message); });
    const auto texts =
        answer ? read_texts(*answer, 3) : Result<std::vector<std::string>>(fail(answer.error()));
    if (!texts) {
      trouble = texts.error().message();
      std::this_thread::sleep_for(kAskLeaderAgain);
      continue;
    }
    last_contact = Clock::now();
    const auto& state = texts->at(0);
    if (state == kDone) return wait_until_restored(draft.id(), draft.name());
    if (state == kFailed) {
      return fail(Error(static_cast<Code>(std::stoi(texts->at(1))), texts->at(2)));
    }
  }
  return fail(Code::kUnavailable,
              fmt::format("the snapshot is not restored, or the outcome is not known; the "
                          "operation may be sent again: {}",
                          trouble));
}

Result<std::string> NodeImpl::ask_to_restore(const std::string& message) {
  QV_TRY(const auto address, leader());
  if (address) return peers_.call(address->peer, kRestore, message);
  return answer_restore(message);
}

/// Reads on this node show it then.
Result<> NodeImpl::wait_until_restored(const std::string& id, const std::string& name) {
  const auto deadline = Clock::now() + kOwnPatience;
  wake();
  while (Clock::now() < deadline) {
    const auto collection = local_->collection(name);
    if (collection && (*collection)->config()->cluster_id == id) return {};
    const auto state = state_.load();
    const auto found = state->collections.find(name);
    if (found != state->collections.end()) {
      if (found->second.config.cluster_id != id) return {};  // replaced
      if (!is_held_here(*state, found->second)) return {};
    }
    {
      MutexLock lock(mutex_);
      if (stopped_) break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  log_warning("collection `{}` is restored, and this node has it later", name);
  return {};
}

bool NodeImpl::is_own_alone(const std::string& name) const {
  const auto names = local_->collection_names();
  if (std::ranges::find(names, name) == names.end()) return false;
  const auto collection = local_->collection(name);
  return collection && (*collection)->config()->cluster_id.empty();
}

// On every node.

Result<std::string> NodeImpl::stage_restore(std::string_view message) {
  QV_TRY(const auto texts, read_texts(message, 3));
  QV_TRY(const bool is_held, hold_archive(texts[0], texts[1], texts[2], false));
  std::string answer;
  append_number(is_held ? 1 : 0, answer);
  return answer;
}

/// What this node has alone is replaced only by what was sent to this node.
Result<bool> NodeImpl::hold_archive(const std::string& id, const std::string& name,
                                    const std::string& peer, bool must_fit) {
  if (is_own_alone(name) && !restores_.has(id)) {
    return fail(Code::kFailedPrecondition,
                fmt::format("collection `{}` was made on node {} alone: restore it there, or "
                            "delete it first",
                            name, self_));
  }
  return restores_.obtain(id, name, peer, must_fit);
}

/// In the lock of the catalog.
Result<> NodeImpl::install_restored(const ClusterState& state, const std::string& name,
                                    const engine::CollectionConfig& config) {
  const std::string& id = config.cluster_id;
  if (!restores_.has(id)) return {};  // a copy is fetched when its shards are caught up
  std::map<ShardName, EntryId> tails;
  for (const auto& [shard, tail] : state.tails) {
    if (shard.collection == id) tails[shard] = tail;
  }
  QV_TRY(restores_.install(id, name));
  if (!state.is_placed(id) && committer_->leads()) committer_->begin_logs(tails);
  log_info("collection `{}` was restored from a snapshot", name);
  if (!parse_part_name(name)) return {};
  // It has the archive's configuration so far.
  QV_TRY(const auto collection, local_->collection(name));
  return collection->adopt_config(config, [] { return Result<bool>(true); });
}

/// `archives`: those that were here before the state was read. Their restore ended without them, or
/// they have become the collection.
void NodeImpl::remove_archives(const ClusterState& state,
                               const std::vector<std::string>& archives) {
  for (const auto& id : archives) {
    if (state.restores.contains(id)) continue;
    const auto* name = state.name_of(id);
    if (name != nullptr && is_held_here(state, state.collections.at(*name))) {
      const auto collection = local_->collection(*name);
      if (!collection || (*collection)->config()->cluster_id != id) continue;
    }
    restores_.remove(id);
  }
}

// On the leader.

Result<std::string> NodeImpl::answer_restore(std::string_view message) {
  QV_TRY(const auto texts, read_texts(message, 3));
  const auto deadline = Clock::now() + kRunPatience;
  MutexLock lock(runs_mutex_);
  if (is_stopping_runs_) return fail(Code::kUnavailable, "this node is stopping");
  auto& slot = runs_[texts[0]];
  if (slot != nullptr && slot->is_over && !slot->outcome &&
      slot->outcome.error().code() == Code::kAborted) {
    slot->thread.join();
    slot = nullptr;
  }
  if (slot == nullptr) {
    forget_old_runs();
    runs_[texts[0]] = begin_run(texts[0], texts[1], texts[2]);
  }
  const auto run = runs_[texts[0]];
  while (!run->is_over && Clock::now() < deadline) {
    runs_changed_.wait_for(runs_mutex_, deadline - Clock::now());
  }
  if (!run->is_over) return join_texts({kRunning, "", ""});
  if (run->outcome) return join_texts({kDone, "", ""});
  const Error& error = run->outcome.error();
  if (error.code() == Code::kAborted) return fail(Code::kUnavailable, error.message());
  return join_texts({kFailed, std::to_string(static_cast<int>(error.code())), error.message()});
}

std::shared_ptr<NodeImpl::Run> NodeImpl::begin_run(const std::string& id, const std::string& name,
                                                   const std::string& peer) {
  auto run = std::make_shared<Run>();
  run->thread = std::thread([this, run = run.get(), id, name, peer] {
    auto outcome = guarded([&] { return restore(id, name, peer); });
    if (!outcome && !committer_->leads()) {
      outcome = fail(Code::kAborted, outcome.error().message());
    }
    if (!outcome) {
      log_warning("collection `{}` is not restored: {}", name, outcome.error().message());
    }
    MutexLock lock(runs_mutex_);
    run->outcome = std::move(outcome);
    run->is_over = true;
    runs_changed_.notify_all();
  });
  return run;
}

void NodeImpl::forget_old_runs() {
  if (runs_.size() < kRunsKept) return;
  for (auto run = runs_.begin(); run != runs_.end();) {
    if (run->second == nullptr || !run->second->is_over) {
      ++run;
      continue;
    }
    run->second->thread.join();
    run = runs_.erase(run);
  }
}

bool NodeImpl::is_restoring(const std::string& id) const {
  MutexLock lock(runs_mutex_);
  const auto run = runs_.find(id);
  return run != runs_.end() && run->second != nullptr && !run->second->is_over;
}

void NodeImpl::stop_runs() {
  std::map<std::string, std::shared_ptr<Run>> runs;
  {
    MutexLock lock(runs_mutex_);
    is_stopping_runs_ = true;
    runs.swap(runs_);
  }
  for (auto& [id, run] : runs) {
    if (run != nullptr) run->thread.join();
  }
}

/// One at a time. The key tells all nodes to keep the archive until it is gone.
Result<> NodeImpl::restore(const std::string& id, const std::string& name,
                           const std::string& peer) {
  MutexLock one(restore_mutex_);
  QV_TRY(check_leads());
  QV_TRY(const auto before, read_record(name));
  if (before && before->config.cluster_id == id) return {};  // by an earlier leader
  const std::string key = keys_.restore(id);
  Transaction mark;
  mark.writes = {{key, name, {}, lease_}};
  QV_TRY(write(std::move(mark)));
  auto restored = guarded([&] { return restore_marked(id, name, peer); });
  if (restored) return {};
  Transaction unmark;
  unmark.writes = {{key}};
  (void)write(std::move(unmark));  // else at a later look
  wake();
  return restored;
}

Result<> NodeImpl::restore_marked(const std::string& id, const std::string& name,
                                  const std::string& peer) {
  QV_TRY(const auto mark, ledger_.range({keys_.restore(id)}));
  if (mark.items.empty()) return fail(Code::kUnavailable, "the lease has run out, try again");
  bool is_held = false;
  while (!is_held) {
    QV_TRY(check_restoring());
    QV_TRY(is_held, hold_archive(id, name, peer, true));
  }
  QV_TRY(const auto config, restores_.config(id));
  QV_TRY(const auto place, restore_place(name, config));
  QV_TRY(const auto holders, spread_archive(id, name, place));
  {
    MutexLock lock(catalog_mutex_);
    QV_TRY(commit_restore(name, config, place, mark.items[0].mod_revision, holders));
  }
  tell_nodes();
  if (place.set) (void)refresh();  // this node adopts it as the others do
  return {};
}

Result<> NodeImpl::check_restoring() const {
  QV_TRY(check_leads());
  return check_not_stopping();
}

/// A collection stays on its nodes. A move that is on its way is over then: what joins has the
/// archive as the others do.
Result<NodeImpl::RestorePlace> NodeImpl::restore_place(const std::string& name,
                                                       const engine::CollectionConfig& config) {
  QV_TRY(const auto state, fetch_state());
  const auto before = state.collections.find(name);
  if (before == state.collections.end()) {
    QV_TRY(auto sets, place_parts(config, 1));
    if (sets.empty()) return RestorePlace{"", 0, std::nullopt};
    return RestorePlace{"", 0, std::move(sets.front())};
  }
  const std::string& id = before->second.config.cluster_id;
  if (!state.is_placed(id)) return RestorePlace{id, 0, std::nullopt};
  auto present = before->second.config;
  if (!present.part) present.part = state.part_of(name);
  QV_TRY(engine::check_fits(present, config, false));
  const GroupState& group = state.group_of(id);
  MemberSet set = *group.set;
  std::set<NodeId> replaced;
  for (const auto& [node, member] : set.members) replaced.insert(member.replaces);
  std::erase_if(set.members, [&](const auto& member) {
    return member.second.state == MemberState::kLeaving || replaced.contains(member.first);
  });
  for (auto& [node, member] : set.members) {
    member.state = MemberState::kActive;
    member.replaces = 0;
  }
  return RestorePlace{id, group.set_revision, std::move(set)};
}

/// The nodes that hold the archive, once each that is to have the collection and is alive has it or
/// has said that it cannot.
Result<std::set<NodeId>> NodeImpl::spread_archive(const std::string& id, const std::string& name,
                                                  const RestorePlace& place) {
  const auto state = state_.load();
  const std::string message = join_texts({id, name, options_.address.peer});
  Mutex mutex;
  std::set<NodeId> holders = {self_};
  std::vector<std::thread> calls;
  for (const auto& [node, address] : state->alive) {
    const bool is_wanted = !place.set || place.set->members.contains(node);
    if (node == self_ || !is_wanted) continue;
    calls.emplace_back([&, node = node, peer = address.peer] {
      const auto held = guarded([&]() -> Result<> {
        while (true) {
          QV_TRY(check_restoring());
          QV_TRY(const auto answer, peers_.call(peer, kStageRestore, message));
          QV_TRY(const auto numbers, read_numbers(answer));
          if (numbers.size() == 1 && numbers[0] == 1) return {};
        }
      });
      if (!held) {
        log_warning("node {} does not hold the snapshot: {}", node, held.error().message());
        return;
      }
      MutexLock lock(mutex);
      holders.insert(node);
    });
  }
  for (auto& call : calls) call.join();
  QV_TRY(check_restoring());
  return holders;
}

/// In the lock of the catalog. No change may be acknowledged that the restored collection lacks. So
/// entries of the one that is replaced are refused meanwhile; if it has nodes of its own, their
/// leader can commit none after this change, which takes its key away.
Result<> NodeImpl::commit_restore(const std::string& name, const engine::CollectionConfig& found,
                                  const RestorePlace& place, Revision mark,
                                  const std::set<NodeId>& holders) {
  QV_TRY(const auto state, read_state());
  if (!state->set) return fail(Code::kUnavailable, "the ledger has no nodes");
  QV_TRY(check_holders(place.set ? *place.set : *state->set, holders));
  if (state->aliases.contains(name)) {
    return fail(Code::kAlreadyExists, fmt::format("`{}` is an alias now", name));
  }
  const auto before = state->collections.find(name);
  const bool replaces = before != state->collections.end();
  const std::string old = replaces ? before->second.config.cluster_id : "";
  if (old != place.replaces) {
    return fail(Code::kUnavailable, "the collection has changed meanwhile, try again");
  }
  const bool is_everywhere = !place.set;
  if (replaces && is_everywhere && !committer_->freeze(old, options_.commit_timeout * 2)) {
    committer_->thaw(old);
    return fail(Code::kUnavailable, "changes of the collection are on their way, try again");
  }
  QV_TRY(const auto config, config_after_restore(*state, name, found));
  std::map<ShardName, EntryId> tails;
  QV_TRY(auto change, restoring_change(*state, name, config, place, tails));
  change.conditions.push_back(
      {keys_.restore(config.cluster_id), Condition::What::kModRevision, mark});
  // While the outcome is not known, `adopt_catalog` waits for the ledger to tell.
  const auto written = write(std::move(change));
  if (written && !*written) {
    committer_->thaw(old);
    return fail(Code::kUnavailable,
                "the nodes or the collection have changed meanwhile, try again");
  }
  QV_TRY(written);
  if (is_everywhere) {
    if (replaces) committer_->forget(shards_of(before->second.config));
    committer_->begin_logs(tails);
    QV_TRY(restores_.install(config.cluster_id, name));
  }
  log_info("collection `{}` was restored from a snapshot on {} nodes", name, holders.size());
  return {};
}

/// A shard of a larger collection keeps the configuration that it shares with the others: only its
/// points are those of the snapshot.
Result<engine::CollectionConfig> NodeImpl::config_after_restore(const ClusterState& state,
                                                                const std::string& name,
                                                                engine::CollectionConfig found) {
  if (!parse_part_name(name)) return found;
  const auto now = state.collections.find(name);
  if (now == state.collections.end()) {
    return fail(Code::kNotFound, Subject::kCollection, name,
                fmt::format("shard {} was dropped meanwhile", name));
  }
  auto config = now->second.config;
  config.cluster_id = found.cluster_id;
  return config;
}

Result<> NodeImpl::check_holders(const MemberSet& set, const std::set<NodeId>& holders) {
  const auto n =
      std::ranges::count_if(holders, [&](NodeId holder) { return set.is_active(holder); });
  if (n >= static_cast<std::ptrdiff_t>(set.quorum())) return {};
  return fail(Code::kUnavailable,
              fmt::format("{} of {} nodes must hold the snapshot before it counts, and {} do; "
                          "nothing was changed",
                          set.quorum(), set.n_nodes, n));
}

std::set<ShardName> NodeImpl::shards_of(const engine::CollectionConfig& config) {
  std::set<ShardName> shards;
  for (const auto shard : engine::shard_numbers(config)) {
    shards.insert({config.cluster_id, shard});
  }
  return shards;
}

/// The log begins after an entry that nobody can send, so a node without the collection copies it.
Result<Transaction> NodeImpl::restoring_change(const ClusterState& state, const std::string& name,
                                               const engine::CollectionConfig& config,
                                               const RestorePlace& place,
                                               std::map<ShardName, EntryId>& tails) const {
  const auto before = state.collections.find(name);
  const bool replaces = before != state.collections.end();
  const std::string key = keys_.collection(name);
  Transaction change;
  change.conditions = {{key, Condition::What::kModRevision, replaces ? before->second.revision : 0},
                       {keys_.set(), Condition::What::kModRevision, state.set_revision},
                       // No collection of this name in parts was made meanwhile.
                       {keys_.collection(part_name(name, 0)), Condition::What::kVersion, 0}};
  change.writes = {{key, engine::to_json(config)}, {keys_.restore(config.cluster_id)}};
  const EntryId first{1, std::string(engine::kEntryHashBytes, '\0')};
  for (const auto& shard : shards_of(config)) {
    tails[shard] = first;
    change.writes.push_back({keys_.tail(shard), encode_tail(first)});
    change.writes.push_back({keys_.base(shard), std::to_string(first.number + 1)});
  }
  if (place.set) change.writes.push_back({keys_.set(config.cluster_id), encode_set(*place.set)});
  if (place.set_revision != 0) {
    change.conditions.push_back(
        {keys_.set(place.replaces), Condition::What::kModRevision, place.set_revision});
    change.writes.push_back({keys_.set(place.replaces)});
    change.writes.push_back({keys_.leader(place.replaces)});
  }
  if (replaces) {
    const std::string& old = before->second.config.cluster_id;
    for (const auto& prefix : {keys_.tails_of(old), keys_.bases_of(old), keys_.headers_of(old)}) {
      change.writes.push_back({prefix, std::nullopt, prefix_end(prefix)});
    }
  }
  if (change.writes.size() <= kMaxOperations) return change;
  return fail(Code::kInvalidArgument,
              fmt::format("the snapshot's collection has {} shards, and in a cluster one of at "
                          "most {} can be restored",
                          tails.size(), (kMaxOperations - kOtherOperations) / 2));
}

Result<std::optional<CollectionRecord>> NodeImpl::read_record(const std::string& name) {
  QV_TRY(const auto now, ledger_.range({keys_.collection(name)}));
  if (now.items.empty()) return std::optional<CollectionRecord>();
  QV_TRY(auto config, engine::parse_config(now.items[0].value));
  return std::optional(CollectionRecord{std::move(config), now.items[0].mod_revision});
}

/// Marks of restores that are over: an earlier leader's, or one that could not be removed.
Result<> NodeImpl::remove_marks(const ClusterState& state) {
  Transaction change;
  for (const auto& [id, name] : state.restores) {
    if (!is_restoring(id)) change.writes.push_back({keys_.restore(id)});
    if (change.writes.size() == kMaxOperations / 2) break;
  }
  if (change.writes.empty()) return {};
  change.conditions = {{keys_.leader(), Condition::What::kCreateRevision, committer_->epoch()}};
  QV_TRY(ledger_.transact(change));
  return {};
}

/// In the lock of the catalog, so no restore is between its two halves.
void NodeImpl::thaw(const ClusterState& state) {
  if (!state.restores.empty()) return;
  for (const auto& id : committer_->frozen()) {
    if (state.name_of(id) != nullptr) committer_->thaw(id);
  }
}

}  // namespace quiver::cluster

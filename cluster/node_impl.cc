#include "cluster/node_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "cluster/identity.h"

namespace quiver::cluster {
namespace {

/// They wait for other nodes.
constexpr std::size_t kPartThreads = 32;

using engine::EntryId;
using engine::ShardName;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookInterval{500};
constexpr std::chrono::seconds kRefreshPatience{3};

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

void add_placed(const ClusterState& state, NodeView& view) {
  for (const auto& [id, group] : state.placed) {
    view.n_held += group.has(view.self) ? 1 : 0;
    view.n_led += group.leader == view.self ? 1 : 0;
    view.n_moving += is_moving(group) ? 1 : 0;
    view.n_under_replicated += is_under_replicated(state, group) ? 1 : 0;
  }
}

}  // namespace

Result<std::unique_ptr<Node>> Node::make(NodeOptions options, Ledger& ledger, PeerClient& peers) {
  QV_TRY(const NodeId self, read_or_make_node_id(options.data_dir));
  QV_TRY(std::string cluster, read_cluster_id(options.data_dir));
  return std::unique_ptr<Node>(
      std::make_unique<NodeImpl>(std::move(options), self, std::move(cluster), ledger, peers));
}

NodeImpl::NodeImpl(NodeOptions options, NodeId self, std::string cluster, Ledger& ledger,
                   PeerClient& peers)
    : options_(std::move(options)),
      self_(self),
      keys_(options_.cluster_name),
      ledger_(ledger),
      peers_(peers),
      replicas_(keys_, ledger, peers, state_),
      committer_(make_committer("")),
      restores_(peers),
      cluster_id_(std::move(cluster)),
      part_executor_(kPartThreads, "parts") {
  replicas_.set_self(self);
}

NodeImpl::~NodeImpl() { stop(); }

Result<> NodeImpl::start(engine::Database& local) {
  local_ = &local;
  replicas_.set_database(local);
  database_ = std::make_unique<ClusterDatabase>(keys_, *this, local, *this, catalog_mutex_);
  if (local.snapshots() != nullptr) {
    QV_TRY(restores_.start(options_.data_dir, *local.snapshots()));
  }
  lease_thread_ = std::thread([this] { keep_lease(); });
  look_thread_ = std::thread([this] { look_until_stopped(); });
  return {};
}

void NodeImpl::stop() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    changed_.notify_all();
  }
  if (look_thread_.joinable()) look_thread_.join();
  if (lease_thread_.joinable()) lease_thread_.join();
  copying_.stop();
  part_executor_.stop();
  stop_runs();
  restores_.stop();
  committer_->stop();
  std::map<std::string, std::shared_ptr<Committer>> placed;
  {
    MutexLock lock(groups_mutex_);
    placed = committers_;  // they stay: who asks them is refused
  }
  for (const auto& [id, committer] : placed) {
    if (committer != nullptr) committer->stop();
  }
  // Another node may lead at once.
  if (lease_ != 0) (void)guarded([this] { return ledger_.revoke_lease(lease_); });
  hedged_.stop();  // late answers may be long in coming
}

Result<> NodeImpl::check_not_stopping() const {
  MutexLock lock(mutex_);
  if (stopped_) return fail(Code::kUnavailable, "this node is stopping");
  return {};
}

void NodeImpl::wake() {
  MutexLock lock(mutex_);
  ++n_wanted_;
  changed_.notify_all();
}

Result<std::optional<NodeAddress>> NodeImpl::leader() const {
  if (is_handing_over("")) return fail(Code::kUnavailable, "another node is about to lead");
  if (committer_->leads()) return std::optional<NodeAddress>();
  const auto state = state_.load();
  if (state == nullptr) {
    return fail(Code::kUnavailable, "this node has not reached the ledger yet");
  }
  const auto found = state->alive.find(state->leader);
  if (state->leader != 0 && state->leader != self_ && found != state->alive.end()) {
    return std::optional(found->second);
  }
  return fail(Code::kUnavailable, state->leader == self_ ? "this node is about to lead"
                                                         : "no node leads at the moment");
}

Result<> NodeImpl::check_leads() const {
  if (committer_->leads()) return {};
  QV_TRY(const auto address, leader());
  return fail(Code::kUnavailable,
              fmt::format("this node does not lead; {} does", address ? address->http : "nobody"));
}

Result<> NodeImpl::check_leads(const std::string& cluster_id) const {
  if (leads(cluster_id)) return {};
  const auto state = state_.load();
  if (state == nullptr || !state->is_placed(cluster_id)) return check_leads();
  const auto leader = state->alive.find(state->group_of(cluster_id).leader);
  const bool is_known = leader != state->alive.end() && leader->first != self_;
  return fail(Code::kUnavailable, fmt::format("this node does not lead the collection; {} does",
                                              is_known ? leader->second.http : "nobody"));
}

void NodeImpl::commit(const ShardName& shard, std::shared_ptr<const engine::Entry> entry,
                      Done done) noexcept {
  const auto committer = committer_of(shard.collection);
  if (committer != nullptr) return committer->commit(shard, std::move(entry), std::move(done));
  done(check_leads(shard.collection));
}

void NodeImpl::confirm_leads(const std::string& cluster_id, Done done) noexcept {
  const auto committer = committer_of(cluster_id);
  if (committer != nullptr) return committer->confirm_leads(std::move(done));
  done(check_leads(cluster_id));
}

void NodeImpl::when_replicas_applied(const std::string& cluster_id,
                                     std::function<void()> then) noexcept {
  const auto committer = committer_of(cluster_id);
  if (committer != nullptr) return committer->when_replicas_applied(cluster_id, std::move(then));
  then();
}

Result<> NodeImpl::commit_config(const std::string& name, const engine::CollectionConfig& base,
                                 const engine::CollectionConfig& config) {
  const std::string key = keys_.collection(name);
  QV_TRY(const auto now, ledger_.range({key}));
  if (now.items.empty()) {
    return fail(Code::kNotFound, fmt::format("collection `{}` is not in the ledger", name));
  }
  if (now.items[0].value != engine::to_json(base)) {
    wake();  // to adopt it
    return fail(
        Code::kUnavailable,
        fmt::format("collection `{}` was changed and this node is behind, try again", name));
  }
  QV_TRY(const bool is_written,
         write_as_leader_of(base.cluster_id,
                            {{{key, Condition::What::kModRevision, now.items[0].mod_revision}},
                             {{key, engine::to_json(config)}}}));
  if (!is_written) {
    return fail(Code::kUnavailable,
                fmt::format("collection `{}` was changed by another node, try again", name));
  }
  tell_nodes();
  return {};
}

Result<bool> NodeImpl::write(Transaction transaction) {
  return write_as_leader_of("", std::move(transaction));
}

Result<bool> NodeImpl::write_as_leader_of(const std::string& cluster_id, Transaction transaction) {
  const auto committer = committer_of(cluster_id);
  QV_TRY(check_leads(cluster_id));
  const auto& key = committer == committer_ ? keys_.leader() : keys_.leader(cluster_id);
  transaction.conditions.push_back({key, Condition::What::kCreateRevision, committer->epoch()});
  bool may_be_done = false;
  while (true) {
    const auto outcome = ledger_.transact(transaction);
    if (outcome && outcome->succeeded) return true;
    // An attempt whose answer was lost may have changed what this one asked for.
    if (outcome) return may_be_done ? is_written(transaction) : Result<bool>(false);
    const Code code = outcome.error().code();
    // A full ledger may have done it all the same.
    if (code == Code::kResourceExhausted) {
      QV_TRY(const bool is_done, is_written(transaction));
      if (is_done) return true;
      return fail(outcome.error());
    }
    if (code != Code::kDeadlineExceeded && !may_be_done) return fail(outcome.error());
    may_be_done = true;
    if (code != Code::kDeadlineExceeded || !committer->leads()) {
      wake();  // what the ledger has is adopted
      return fail(Code::kUnavailable, "the outcome is not known; the operation may be sent again");
    }
  }
}

/// True if the first write of the transaction is in the ledger.
Result<bool> NodeImpl::is_written(const Transaction& transaction) {
  const Write& first = transaction.writes.front();
  const auto now = ledger_.range({first.key});
  if (!now) {
    wake();
    return fail(Code::kUnavailable, "the outcome is not known; the operation may be sent again");
  }
  if (!first.value) return now->items.empty();
  return !now->items.empty() && now->items[0].value == *first.value;
}

Result<> NodeImpl::confirm_leads_now() { return engine::wait_for_confirmed_lead(*this, ""); }

/// The others look at the ledger anew; those that cannot be reached do it later.
void NodeImpl::tell_nodes() {
  const auto state = state_.load();
  std::vector<std::thread> calls;
  for (const auto& [id, address] : state->alive) {
    if (id == self_) continue;
    calls.emplace_back([this, peer = address.peer] {
      const auto told = guarded([&] { return peers_.call(peer, kRefresh, {}); });
      if (!told) log_warning("node {} was not told of a change: {}", peer, told.error().message());
    });
  }
  for (auto& call : calls) call.join();
  wake();
}

std::map<std::string, std::string> NodeImpl::local_aliases() const {
  std::map<std::string, std::string> aliases;
  for (const auto& alias : local_->aliases()) aliases[alias.alias] = alias.collection;
  return aliases;
}

void NodeImpl::forget(const std::set<engine::ShardName>& shards) { committer_->forget(shards); }

std::string NodeImpl::cluster_id() const {
  MutexLock lock(mutex_);
  return cluster_id_;
}

NodeView NodeImpl::view() const {
  NodeView view;
  view.self = self_;
  view.n_nodes = options_.n_nodes;
  view.write_quorum = options_.n_nodes / 2 + 1;
  view.is_ledger_up = is_ledger_up_;
  view.lease_s = static_cast<double>(options_.lease.count());
  view.ledger_term = ledger_term_;
  view.n_pending = committer_->n_pending();
  std::vector<std::shared_ptr<Committer>> committers = {committer_};
  {
    MutexLock lock(groups_mutex_);
    for (const auto& [id, committer] : committers_) {
      if (committer != nullptr && committer->leads()) committers.push_back(committer);
    }
  }
  view.stale_s = last_heard_ms_ == 0 ? 0 : static_cast<double>(steady_ms() - last_heard_ms_) / 1e3;
  {
    MutexLock lock(mutex_);
    view.refusal = refusal_;
  }
  const auto state = state_.load();
  if (state == nullptr) return view;
  view.leader = state->leader;
  view.epoch = state->epoch;
  view.ledger_revision = state->revision;
  if (!state->set) return view;
  if (state->removed.contains(self_)) {
    view.refusal =
        "this node was removed from the cluster: stop it. With an empty data directory it joins "
        "as a new node";
  }
  add_placed(*state, view);
  const auto departs = departing(*state);
  view.n_nodes = state->set->n_nodes;
  view.write_quorum = state->set->quorum();
  for (const auto& [id, member] : state->set->members) {
    std::uint64_t lag = 0;
    for (const auto& committer : committers) {
      if (committer->leads() && committer->has_member(id)) lag += committer->lag_of(id);
    }
    view.members.push_back({id, member.address, state->alive.contains(id),
                            member.state == MemberState::kActive, id == self_ ? 0 : lag});
    if (state->draining.contains(id)) view.members.back().drain = drain_view(*state, id, departs);
  }
  return view;
}

// The lease.

void NodeImpl::keep_lease() {
  while (true) {
    run_logged("renewing the lease", [this] { renew_lease(); });
    MutexLock lock(mutex_);
    if (!stopped_) changed_.wait_for(mutex_, std::chrono::milliseconds(options_.lease) / 3);
    if (stopped_) return;
  }
}

void NodeImpl::renew_lease() {
  const std::int64_t asked_ms = steady_ms();
  if (lease_ != 0) {
    const auto kept = ledger_.keep_alive(lease_);
    is_ledger_up_ = kept.has_value();
    if (kept) last_heard_ms_ = asked_ms;
    if (kept && *kept) return;
    if (!kept) {
      const bool is_over = steady_ms() - last_heard_ms_ > options_.lease.count() * 1000;
      if (is_over) follow_all();
      return;
    }
    log_warning("the lease of this node has run out");
    follow_all();
    lease_ = 0;
  }
  const auto taken = take_lease();
  is_ledger_up_ = taken.has_value();
  if (taken) {
    last_heard_ms_ = asked_ms;
    wake();
  }
  const bool is_refused = !taken && taken.error().code() == Code::kFailedPrecondition;
  const std::string refusal = is_refused ? taken.error().message() : "";
  if (refusal != lease_refusal_ && is_refused) log_error("{}", refusal);
  lease_refusal_ = refusal;
}

Result<> NodeImpl::take_lease() {
  QV_TRY(const auto before, ledger_.range({keys_.alive(self_)}));
  if (!before.items.empty() && decode_address(before.items[0].value) != options_.address) {
    return fail(Code::kFailedPrecondition,
                fmt::format("another process is node {}, too, at {}: one of the two data "
                            "directories is a copy and must be emptied",
                            self_, before.items[0].value));
  }
  QV_TRY(const LeaseId lease, ledger_.grant_lease(options_.lease));
  QV_TRY(put_alive(lease));
  lease_ = lease;
  if (const auto status = ledger_.status()) ledger_term_ = status->raft_term;
  return {};
}

Result<> NodeImpl::put_alive(LeaseId lease) {
  Transaction alive;
  alive.writes = {{keys_.alive(self_), encode_address(options_.address), {}, lease}};
  QV_TRY(ledger_.transact(alive));
  return {};
}

// What other nodes ask.

Result<std::string> NodeImpl::answer(std::string_view verb, std::string_view body) {
  if (verb == kGetCluster) return cluster_id();
  if (local_ == nullptr) return fail(Code::kUnavailable, "this node is starting");
  if (verb == kStoreBodies) return store_bodies(body);
  if (verb == kApplyCommitted) return apply_committed(body);
  if (verb == kGetBody) return get_body(body);
  if (verb == kGetApplied) return get_applied(body);
  if (verb == kRefresh) return refresh();
  if (verb == kPartCall) return answer_part(body);
  if (verb == kWake) {
    wake();
    return std::string();
  }
  if (verb == kGetSeen) {
    const auto state = state_.load();
    std::string seen;
    append_number(state == nullptr ? 0 : static_cast<std::uint64_t>(state->revision), seen);
    return seen;
  }
  if (verb == kStageRestore) return stage_restore(body);
  if (verb == kRestore) return answer_restore(body);
  if (verb == kOpenArchive) {
    QV_TRY(auto reader, restores_.read(std::string(body)));
    return copies_.offer(std::move(reader));
  }
  if (verb == kOpenCopy || verb == kReadCopy || verb == kCloseCopy) {
    return copies_.answer(verb, body, *local_->snapshots());
  }
  return fail(Code::kUnimplemented, fmt::format("no verb `{}` between nodes", verb));
}

Result<std::string> NodeImpl::store_bodies(std::string_view message) {
  QV_TRY(const auto entries, read_entries(message));
  std::string answer;
  for (const auto& entry : entries) {
    const auto stored = guarded([&]() -> Result<> {
      QV_TRY(const auto replica, replicas_.find(entry.shard));
      if (copying_.runs(entry.shard.collection)) {
        return fail(Code::kUnavailable, "the copy that is received would replace it");
      }
      QV_TRY(replica->store_body(entry.id, entry.body));
      if (!copying_.runs(entry.shard.collection)) return {};
      return fail(Code::kUnavailable, "the copy that has begun replaces it");
    });
    const bool is_missing = !stored && stored.error().code() == Code::kNotFound;
    if (is_missing && !copying_.runs(entry.shard.collection)) wake();
    if (!stored && !is_missing) {
      log_warning("entry {} of shard {}/{} is not stored: {}", entry.id.number,
                  entry.shard.collection, entry.shard.shard, stored.error().message());
    }
    append_number(stored.has_value() ? 1 : 0, answer);
  }
  return answer;
}

Result<std::string> NodeImpl::apply_committed(std::string_view message) {
  QV_TRY(const auto entries, read_entries(message));
  std::string answer;
  for (const auto& entry : entries) {
    const auto applied = guarded([&] { return replicas_.apply_up_to(entry.shard, entry.id); });
    if (!applied && !copying_.runs(entry.shard.collection)) wake();
    append_number(replicas_.applied(entry.shard), answer);
  }
  return answer;
}

Result<std::string> NodeImpl::get_body(std::string_view message) {
  QV_TRY(const auto entries, read_entries(message));
  if (entries.size() != 1) return fail(Code::kInvalidArgument, "one entry was to be asked for");
  QV_TRY(const auto replica, replicas_.find(entries[0].shard));
  QV_TRY(auto body, replica->body(entries[0].id));
  if (body) return *std::move(body);
  return fail(Code::kNotFound, fmt::format("entry {} is not on this node", entries[0].id.number));
}

Result<std::string> NodeImpl::get_applied(std::string_view message) {
  QV_TRY(const auto entries, read_entries(message));
  std::string answer;
  for (const auto& entry : entries) {
    append_number(replicas_.applied(entry.shard), answer);
  }
  return answer;
}

Result<std::string> NodeImpl::refresh() {
  const auto deadline = Clock::now() + kRefreshPatience;
  MutexLock lock(mutex_);
  const std::uint64_t wanted = ++n_wanted_;
  changed_.notify_all();
  while (n_looked_ < wanted && !stopped_ && Clock::now() < deadline) {
    changed_.wait_for(mutex_, kLookInterval);
  }
  if (n_looked_ >= wanted) return std::string();
  return fail(Code::kDeadlineExceeded, "this node has not looked at the ledger in time");
}

}  // namespace quiver::cluster

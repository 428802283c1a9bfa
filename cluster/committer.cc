#include "cluster/committer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"

namespace quiver::cluster {
namespace {

using engine::EntryId;
using engine::EntryNumber;
using engine::ShardName;
using Clock = std::chrono::steady_clock;

/// Two conditions and two writes for each entry, beside two common conditions.
constexpr std::size_t kEntriesAtOnce = 40;
constexpr std::chrono::milliseconds kTick{20};
constexpr std::chrono::milliseconds kPauseOfLedger{50};

Error not_leading() {
  return Error(Code::kUnavailable, "this node does not lead any more, try again");
}

}  // namespace

Committer::Committer(const Keys& keys, Ledger& ledger, PeerClient& peers, const Options& options,
                     std::function<void()> deposed)
    : keys_(keys),
      ledger_(ledger),
      peers_(peers),
      options_(options),
      deposed_(std::move(deposed)),
      thread_([this] { run(); }) {}

Committer::~Committer() { stop(); }

void Committer::stop() {
  leads_ = false;
  std::map<NodeId, std::unique_ptr<PeerLink>> links;
  std::vector<std::unique_ptr<PeerLink>> retired;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
    for (auto& [id, link] : links_) link->stop();
  }
  if (thread_.joinable()) thread_.join();
  {
    MutexLock lock(mutex_);
    links.swap(links_);
    retired.swap(retired_);
  }
  links.clear();  // outside the lock: their threads may call back
  retired.clear();
  std::map<ShardName, Pending> left;
  std::list<Waiting> waiting;
  {
    MutexLock lock(mutex_);
    left.swap(pending_);
    waiting.swap(waiting_);
  }
  for (auto& [shard, pending] : left) {
    pending.done(fail(Code::kUnavailable,
                      "the node is stopping; the outcome is not known, the operation may be sent "
                      "again"));
  }
  for (auto& one : waiting) one.then();
}

void Committer::lead(Leadership leadership, const std::map<ShardName, EntryId>& tails) {
  MutexLock lock(mutex_);
  leadership_ = std::move(leadership);
  tails_ = tails;
  applied_.clear();
  late_.clear();
  unreachable_.clear();
  connect_peers();
  for (const auto& [id, link] : links_) {
    for (const auto& [shard, tail] : tails_) link->tell_committed(shard, tail);
  }
  epoch_ = leadership_.epoch;
  leads_ = true;
}

void Committer::set_members(const MemberSet& set, Revision revision) {
  MutexLock lock(mutex_);
  leadership_.set = set;
  leadership_.set_revision = revision;
  connect_peers();
  for (const auto& [shard, pending] : pending_) {
    for (const auto& [id, link] : links_) {
      if (!pending.holders.contains(id)) link->store(shard, pending.entry);
    }
  }
  changed_.notify_all();
}

void Committer::connect_peers() {
  const auto& members = leadership_.set.members;
  for (auto item = links_.begin(); item != links_.end();) {
    const auto found = members.find(item->first);
    if (found != members.end() && found->second.address == item->second->address()) {
      ++item;
      continue;
    }
    item->second->stop();
    retired_.push_back(std::move(item->second));
    item = links_.erase(item);
  }
  for (const auto& [id, member] : members) {
    if (id == options_.self || links_.contains(id)) continue;
    links_[id] = std::make_unique<PeerLink>(id, member.address, peers_, *this);
    for (const auto& [shard, tail] : tails_) links_[id]->tell_committed(shard, tail);
  }
}

void Committer::follow() {
  leads_ = false;
  MutexLock lock(mutex_);
  changed_.notify_all();
}

void Committer::forget(const std::string& cluster_id) {
  MutexLock lock(mutex_);
  const auto is_of_it = [&](const auto& item) { return item.first.collection == cluster_id; };
  std::erase_if(tails_, is_of_it);
  for (auto& [id, applied] : applied_) std::erase_if(applied, is_of_it);
}

void Committer::commit(const ShardName& shard, std::shared_ptr<const engine::Entry> entry,
                       Done done) {
  {
    MutexLock lock(mutex_);
    if (leads_ && !stopped_) {
      for (const auto& [id, link] : links_) link->store(shard, entry);
      pending_[shard] = {std::move(entry), std::move(done), {options_.self},
                         Clock::now() + options_.push_timeout};
      changed_.notify_all();
      return;
    }
  }
  done(fail(not_leading()));
}

void Committer::on_stored(NodeId peer, const ShardName& shard, const EntryId& id) {
  MutexLock lock(mutex_);
  const auto found = pending_.find(shard);
  if (found == pending_.end() || found->second.entry->id != id) return;
  found->second.holders.insert(peer);
  changed_.notify_all();
}

bool Committer::is_wanted(const ShardName& shard, const EntryId& id) {
  MutexLock lock(mutex_);
  const auto found = pending_.find(shard);
  return found != pending_.end() && found->second.entry->id == id;
}

bool Committer::is_known(const ShardName& shard) {
  MutexLock lock(mutex_);
  return tails_.contains(shard);
}

void Committer::on_reachable(NodeId peer, bool is_reachable) {
  std::vector<std::function<void()>> answered;
  {
    MutexLock lock(mutex_);
    const bool was = !unreachable_.contains(peer);
    if (was == is_reachable) return;
    if (is_reachable) {
      unreachable_.erase(peer);
    } else {
      unreachable_.insert(peer);
      late_.insert(peer);  // until it has caught up
      answered = take_answered();
    }
  }
  for (const auto& then : answered) then();
}

void Committer::on_applied(NodeId peer, const ShardName& shard, EntryNumber number) {
  std::vector<std::function<void()>> answered;
  {
    MutexLock lock(mutex_);
    auto& applied = applied_[peer][shard];
    applied = std::max(applied, number);
    if (late_.contains(peer)) {
      const auto& all = applied_[peer];
      const bool has_all = std::ranges::all_of(tails_, [&](const auto& tail) {
        const auto found = all.find(tail.first);
        return found != all.end() && found->second >= tail.second.number;
      });
      if (has_all) late_.erase(peer);
    }
    answered = take_answered();
  }
  for (const auto& then : answered) then();
}

bool Committer::is_applied(const Waiting& waiting) const {
  for (const auto& [peer, link] : links_) {
    if (!leadership_.set.is_active(peer) || late_.contains(peer)) continue;
    const auto of_peer = applied_.find(peer);
    for (const auto& [shard, number] : waiting.targets) {
      if (of_peer == applied_.end()) return false;
      const auto found = of_peer->second.find(shard);
      if (found == of_peer->second.end() || found->second < number) return false;
    }
  }
  return true;
}

std::vector<std::function<void()>> Committer::take_answered() {
  std::vector<std::function<void()>> answered;
  const auto now = Clock::now();
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const bool is_late = one->deadline <= now;
    if (!is_late && !is_applied(*one)) {
      ++one;
      continue;
    }
    answered.push_back(std::move(one->then));
    one = waiting_.erase(one);
  }
  return answered;
}

void Committer::when_replicas_applied(const std::string& cluster_id, std::function<void()> then) {
  {
    MutexLock lock(mutex_);
    Waiting waiting{{}, {}, Clock::now() + options_.apply_timeout};
    for (const auto& [shard, tail] : tails_) {
      if (shard.collection == cluster_id) waiting.targets[shard] = tail.number;
    }
    if (!stopped_ && !is_applied(waiting)) {
      waiting.then = std::move(then);
      waiting_.push_back(std::move(waiting));
      return;
    }
  }
  then();
}

Committer::Ready Committer::ready_entries() {
  Ready ready;
  for (const auto& [shard, pending] : pending_) {
    const bool is_ready = is_held(pending) || pending.was_sent;
    if (is_ready && ready.size() < kEntriesAtOnce) ready.push_back(shard);
  }
  return ready;
}

bool Committer::is_held(const Pending& pending) const {
  const auto n = std::ranges::count_if(
      pending.holders, [&](NodeId holder) { return leadership_.set.is_active(holder); });
  return n >= static_cast<std::ptrdiff_t>(leadership_.set.quorum());
}

/// Entries that were never sent to the ledger and cannot be: no majority holds them in time, or
/// this node does not lead any more.
std::vector<Committer::Done> Committer::take_overdue() {
  std::vector<Done> overdue;
  const auto now = Clock::now();
  for (auto one = pending_.begin(); one != pending_.end();) {
    const bool is_over = !leads_ || one->second.deadline <= now;
    if (one->second.was_sent || !is_over) {
      ++one;
      continue;
    }
    overdue.push_back(std::move(one->second.done));
    one = pending_.erase(one);
  }
  return overdue;
}

void Committer::run() {
  while (true) {
    Ready ready;
    std::vector<Done> overdue;
    std::vector<std::function<void()>> answered;
    bool leads = leads_;
    std::string reason;
    {
      MutexLock lock(mutex_);
      if (stopped_) return;
      ready = ready_entries();
      if (ready.empty() || !leads_) overdue = take_overdue();
      if (ready.empty() && overdue.empty()) changed_.wait_for(mutex_, kTick);
      answered = take_answered();
      leads = leads_;
      reason = fmt::format("{} of {} nodes must store a change, and too few can be reached",
                           leadership_.set.quorum(), leadership_.set.n_nodes);
    }
    for (const auto& then : answered) run_logged("answering an update", then);
    for (const auto& done : overdue) {
      done(fail(leads ? Error(Code::kUnavailable, reason) : not_leading()));
    }
    if (!ready.empty()) commit_ready(ready);
  }
}

void Committer::commit_ready(const Ready& ready) {
  MutexLock lock(commit_mutex_);
  if (ready.size() > 1 && try_commit(ready)) return;
  for (const auto& shard : ready) {
    if (!try_commit({shard})) find_out(shard);
  }
}

bool Committer::try_commit(const Ready& ready) {
  Transaction transaction;
  std::vector<std::pair<ShardName, EntryId>> sent;
  {
    MutexLock lock(mutex_);
    transaction.conditions = {
        {keys_.leader(), Condition::What::kCreateRevision, leadership_.epoch},
        {keys_.set(), Condition::What::kModRevision, leadership_.set_revision}};
    for (const auto& shard : ready) {
      const auto found = pending_.find(shard);
      if (found == pending_.end()) continue;
      auto& pending = found->second;
      // It was sent before the set changed: whether it counts is to be found out.
      if (!is_held(pending)) return false;
      const auto& entry = *pending.entry;
      pending.was_sent = true;
      sent.emplace_back(shard, entry.id);
      Header header{entry.id, leadership_.epoch, to_number(entry.last), entry.body.size(),
                    {pending.holders.begin(), pending.holders.end()}};
      transaction.conditions.push_back(
          {keys_.header(shard, entry.id.number), Condition::What::kVersion, 0});
      transaction.writes.push_back({keys_.header(shard, entry.id.number), encode_header(header)});
      transaction.writes.push_back({keys_.tail(shard), encode_tail(entry.id)});
    }
  }
  if (sent.empty()) return true;
  const auto outcome = guarded([&] { return ledger_.transact(transaction); });
  if (!outcome || !outcome->succeeded) return false;
  for (const auto& [shard, id] : sent) settle(shard, {});
  return true;
}

/// Reads what became of the entry. While the ledger does not answer, the entry stays.
void Committer::find_out(const ShardName& shard) {
  EntryId id;
  std::int64_t epoch = 0;
  Revision set_revision = 0;
  {
    MutexLock lock(mutex_);
    const auto found = pending_.find(shard);
    if (found == pending_.end()) return;
    id = found->second.entry->id;
    epoch = leadership_.epoch;
    set_revision = leadership_.set_revision;
  }
  const auto leader = guarded([&] { return ledger_.range({keys_.leader()}); });
  const auto header = guarded([&] { return ledger_.range({keys_.header(shard, id.number)}); });
  if (!leader || !header) {
    std::this_thread::sleep_for(kPauseOfLedger);
    return;  // tried again: it was sent
  }
  if (!header->items.empty()) {
    const auto found = decode_header(header->items[0].key, header->items[0].value);
    if (found && found->id == id) return settle(shard, {});
    return settle(shard, fail(Code::kUnavailable, "another node leads now, try again"));
  }
  // The header is not there. An earlier transaction may still be on its way, but it holds only if
  // this epoch is in force.
  if (leader->items.empty() || leader->items[0].create_revision != epoch) {
    leads_ = false;
    deposed_();
    return settle(shard, fail(not_leading()));
  }
  const auto set = guarded([&] { return ledger_.range({keys_.set()}); });
  if (set && !set->items.empty() && set->items[0].mod_revision != set_revision) {
    deposed_();  // the node reads the set anew
  }
  std::this_thread::sleep_for(kPauseOfLedger);
}

void Committer::settle(const ShardName& shard, const Result<>& outcome) {
  Done done;
  {
    MutexLock lock(mutex_);
    const auto found = pending_.find(shard);
    if (found == pending_.end()) return;
    const EntryId id = found->second.entry->id;
    done = std::move(found->second.done);
    pending_.erase(found);
    if (outcome) {
      tails_[shard] = id;
      for (const auto& [peer, link] : links_) link->tell_committed(shard, id);
    }
  }
  done(outcome);
}

Result<> Committer::between_commits(
    const std::function<Result<>(const std::map<ShardName, EntryId>&)>& change) {
  MutexLock lock(commit_mutex_);
  std::map<ShardName, EntryId> tails;
  {
    MutexLock inside(mutex_);
    const bool is_sent = std::ranges::any_of(
        pending_, [](const auto& item) { return item.second.was_sent; });
    if (is_sent) return fail(Code::kUnavailable, "an entry is on its way to the ledger");
    tails = tails_;
  }
  return change(tails);
}

std::uint64_t Committer::n_pending() const {
  MutexLock lock(mutex_);
  return pending_.size();
}

std::uint64_t Committer::lag_of(NodeId node) const {
  MutexLock lock(mutex_);
  const auto of_node = applied_.find(node);
  std::uint64_t lag = 0;
  for (const auto& [shard, tail] : tails_) {
    EntryNumber applied = 0;
    if (of_node != applied_.end()) {
      const auto found = of_node->second.find(shard);
      if (found != of_node->second.end()) applied = found->second;
    }
    lag += tail.number - std::min(tail.number, applied);
  }
  return lag;
}

EntryNumber Committer::applied_everywhere(const ShardName& shard) const {
  MutexLock lock(mutex_);
  const auto tail = tails_.find(shard);
  EntryNumber least = tail == tails_.end() ? 0 : tail->second.number;
  for (const auto& [id, member] : leadership_.set.members) {
    if (id == options_.self) continue;
    const auto of_peer = applied_.find(id);
    if (of_peer == applied_.end()) return 0;
    const auto found = of_peer->second.find(shard);
    least = std::min(least, found == of_peer->second.end() ? 0 : found->second);
  }
  return leadership_.set.members.size() < leadership_.set.n_nodes ? 0 : least;
}

}  // namespace quiver::cluster

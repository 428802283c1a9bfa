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
  std::vector<Done> confirmations;
  {
    MutexLock lock(mutex_);
    left.swap(pending_);
    waiting.swap(waiting_);
    confirmations.swap(confirmations_);
  }
  for (auto& done : confirmations) done(fail(not_leading()));
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
  std::erase_if(tails_, [&](const auto& tail) { return !tails.contains(tail.first); });
  for (const auto& [shard, tail] : tails) {
    EntryId& known = tails_[shard];  // newer if this node has led since the ledger was read
    if (known.number < tail.number) known = tail;
  }
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
    applied_.erase(item->first);  // if it comes back, it may have dropped all
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

void Committer::forget(const std::set<ShardName>& shards) {
  MutexLock lock(mutex_);
  const auto is_forgotten = [&](const auto& item) { return shards.contains(item.first); };
  std::erase_if(tails_, is_forgotten);
  for (auto& [id, applied] : applied_) std::erase_if(applied, is_forgotten);
  for (auto& [id, targets] : late_) std::erase_if(targets, is_forgotten);
  for (Waiting& waiting : waiting_) std::erase_if(waiting.targets, is_forgotten);
  forgotten_.insert(shards.begin(), shards.end());
}

void Committer::begin_logs(const std::map<ShardName, EntryId>& tails) {
  MutexLock lock(mutex_);
  for (const auto& [shard, tail] : tails) {
    EntryId& known = tails_[shard];
    if (known.number >= tail.number) continue;
    known = tail;
    for (const auto& [id, link] : links_) link->tell_committed(shard, tail);
  }
}

bool Committer::freeze(const std::string& cluster_id, std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  const auto is_of_it = [&](const auto& item) { return item.first.collection == cluster_id; };
  MutexLock lock(mutex_);
  frozen_.insert(cluster_id);
  while (std::ranges::any_of(pending_, is_of_it)) {
    if (stopped_ || Clock::now() >= deadline) return false;
    changed_.wait_for(mutex_, kTick);
  }
  return true;
}

void Committer::thaw(const std::string& cluster_id) {
  MutexLock lock(mutex_);
  frozen_.erase(cluster_id);
}

std::set<std::string> Committer::frozen() const {
  MutexLock lock(mutex_);
  return frozen_;
}

void Committer::forget_only(const std::set<ShardName>& dropped) {
  MutexLock lock(mutex_);
  std::erase_if(forgotten_, [&dropped, &pending = pending_](const ShardName& shard) {
    return !dropped.contains(shard) && !pending.contains(shard);
  });
}

void Committer::confirm_leads(Done done) {
  {
    MutexLock lock(mutex_);
    if (leads_ && !stopped_) {
      confirmations_.push_back(std::move(done));
      changed_.notify_all();
      return;
    }
  }
  done(fail(not_leading()));
}

void Committer::commit(const ShardName& shard, std::shared_ptr<const engine::Entry> entry,
                       Done done) {
  auto refusal = fail(not_leading());
  {
    MutexLock lock(mutex_);
    const auto tail = tails_.find(shard);
    const EntryNumber next = tail == tails_.end() ? 1 : tail->second.number + 1;
    if (frozen_.contains(shard.collection)) {
      refusal = fail(Code::kUnavailable, "the collection is being replaced, try again");
    } else if (entry->id.number != next) {
      refusal = fail(Code::kUnavailable, "this node lacks entries of the shard, try again");
    } else if (leads_ && !stopped_) {
      for (const auto& [id, link] : links_) link->store(shard, entry);
      pending_[shard] = {std::move(entry),
                         std::move(done),
                         {options_.self},
                         Clock::now() + options_.commit_timeout};
      changed_.notify_all();
      return;
    }
  }
  done(std::move(refusal));
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
    late_[peer] = tail_numbers();
    if (is_reachable) {
      unreachable_.erase(peer);
    } else {
      unreachable_.insert(peer);
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
    const auto late = late_.find(peer);
    const bool has_caught_up =
        late != late_.end() && !unreachable_.contains(peer) && has_applied(peer, late->second);
    if (has_caught_up) late_.erase(late);
    answered = take_answered();
  }
  for (const auto& then : answered) then();
}

bool Committer::has_applied(NodeId peer, const Tails& targets) const {
  const auto of_peer = applied_.find(peer);
  if (of_peer == applied_.end()) return targets.empty();
  return std::ranges::all_of(targets, [&](const auto& target) {
    const auto found = of_peer->second.find(target.first);
    return found != of_peer->second.end() && found->second >= target.second;
  });
}

Committer::Tails Committer::tail_numbers() const {
  Tails numbers;
  for (const auto& [shard, tail] : tails_) numbers[shard] = tail.number;
  return numbers;
}

bool Committer::is_applied(const Waiting& waiting) const {
  return std::ranges::all_of(links_, [&](const auto& link) {
    const NodeId peer = link.first;
    return !leadership_.set.is_active(peer) || late_.contains(peer) ||
           has_applied(peer, waiting.targets);
  });
}

std::vector<std::function<void()>> Committer::take_answered() {
  std::vector<std::function<void()>> answered;
  const auto now = Clock::now();
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const bool is_late = one->deadline <= now;
    const bool is_done = is_applied(*one);
    if (!is_late && !is_done) {
      ++one;
      continue;
    }
    for (const auto& [peer, link] : links_) {  // those that it was in vain to wait for
      const bool is_missing = !is_done && leadership_.set.is_active(peer) &&
                              !late_.contains(peer) && !has_applied(peer, one->targets);
      if (is_missing) late_[peer] = tail_numbers();
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
      changed_.notify_all();
      return;
    }
  }
  then();
}

Committer::Ready Committer::ready_entries() {
  Ready ready;
  for (const auto& [shard, pending] : pending_) {
    const bool is_ready = is_held(pending) || pending.n_unknown != 0;
    if (is_ready && ready.size() < kEntriesAtOnce) ready.push_back(shard);
  }
  return ready;
}

bool Committer::is_held(const Pending& pending) const {
  const auto n = std::ranges::count_if(
      pending.holders, [&](NodeId holder) { return leadership_.set.is_active(holder); });
  return n >= static_cast<std::ptrdiff_t>(leadership_.set.quorum());
}

/// Entries that are not in the ledger for sure, and cannot be put there: no majority holds them in
/// time, the ledger is away, or this node does not lead any more.
std::vector<Committer::Overdue> Committer::take_overdue() {
  std::vector<Overdue> overdue;
  const auto now = Clock::now();
  for (auto one = pending_.begin(); one != pending_.end();) {
    Pending& pending = one->second;
    if (pending.n_unknown != 0 || (leads_ && pending.deadline > now)) {
      ++one;
      continue;
    }
    const std::string reason =
        is_held(pending)
            ? fmt::format("the cluster's ledger takes no change: {}", pending.trouble)
            : fmt::format("{} of {} nodes must store a change, and too few can be reached",
                          leadership_.set.quorum(), leadership_.set.n_nodes);
    overdue.push_back(
        {std::move(pending.done), leads_ ? Error(Code::kUnavailable, reason) : not_leading()});
    one = pending_.erase(one);
  }
  return overdue;
}

void Committer::run() {
  while (true) {
    Ready ready;
    std::vector<Overdue> overdue;
    std::vector<std::function<void()>> answered;
    std::vector<Done> asked;
    {
      MutexLock lock(mutex_);
      if (stopped_) return;
      overdue = take_overdue();
      ready = ready_entries();
      const bool is_idle = ready.empty() && overdue.empty() && confirmations_.empty();
      const bool has_work = !pending_.empty() || !waiting_.empty();
      if (is_idle && has_work) changed_.wait_for(mutex_, kTick);
      if (is_idle && !has_work) changed_.wait(mutex_);
      answered = take_answered();
      asked.swap(confirmations_);
    }
    if (!asked.empty()) answer_confirmations(std::move(asked));
    for (const auto& then : answered) run_logged("answering an update", then);
    for (const auto& [done, reason] : overdue) done(fail(reason));
    if (!ready.empty()) commit_ready(ready);
  }
}

/// One question for all that were asked before it.
void Committer::answer_confirmations(std::vector<Done> asked) {
  const auto leader = guarded([&] { return ledger_.range({keys_.leader(options_.group)}); });
  Result<> outcome;
  if (!leader) {
    outcome = fail(
        Code::kUnavailable,
        fmt::format("the cluster's ledger does not say who leads: {}", leader.error().message()));
  } else if (!leads_ || leader->items.empty() || leader->items[0].create_revision != epoch_) {
    outcome = fail(not_leading());
  }
  for (const auto& done : asked) run_logged("answering an update", [&] { done(outcome); });
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
  Sent sent;
  {
    MutexLock lock(mutex_);
    transaction.conditions = {
        {keys_.leader(options_.group), Condition::What::kCreateRevision, leadership_.epoch},
        {keys_.set(options_.group), Condition::What::kModRevision, leadership_.set_revision}};
    for (const auto& shard : ready) {
      const auto found = pending_.find(shard);
      if (found == pending_.end()) continue;
      auto& pending = found->second;
      // It was sent before the set changed: whether it counts is to be found out.
      if (!is_held(pending)) continue;
      const auto& entry = *pending.entry;
      pending.n_unknown += 1;
      sent.emplace_back(shard, entry.id);
      Header header{entry.id,
                    leadership_.epoch,
                    to_number(entry.last),
                    entry.body.size(),
                    {pending.holders.begin(), pending.holders.end()}};
      transaction.conditions.push_back(
          {keys_.header(shard, entry.id.number), Condition::What::kVersion, 0});
      transaction.writes.push_back({keys_.header(shard, entry.id.number), encode_header(header)});
      transaction.writes.push_back({keys_.tail(shard), encode_tail(entry.id)});
    }
  }
  if (sent.empty()) return false;
  const auto outcome = guarded([&] { return ledger_.transact(transaction); });
  if (!outcome && outcome.error().code() != Code::kDeadlineExceeded) {
    note_refusal(sent, outcome.error());
    return false;
  }
  if (outcome && !outcome->succeeded) {
    note_refusal(sent, Error(Code::kAborted, "another node leads, or the nodes have changed"));
  }
  if (!outcome || !outcome->succeeded) return false;
  for (const auto& [shard, id] : sent) settle(shard, {});
  return true;
}

void Committer::note_refusal(const Sent& sent, const Error& refusal) {
  MutexLock lock(mutex_);
  for (const auto& [shard, id] : sent) {
    const auto found = pending_.find(shard);
    if (found == pending_.end()) continue;
    found->second.trouble = refusal.message();
    // A full ledger may have done it all the same (etcd applies, then refuses): `find_out` looks.
    if (refusal.code() == Code::kResourceExhausted) {
      found->second.n_refused += 1;
    } else {
      found->second.n_unknown -= 1;
    }
  }
}

/// Reads what became of the entry. While the ledger does not answer, the entry stays.
void Committer::find_out(const ShardName& shard) {
  EntryId id;
  std::int64_t epoch = 0;
  Revision set_revision = 0;
  int n_refused = 0;
  {
    MutexLock lock(mutex_);
    const auto found = pending_.find(shard);
    if (found == pending_.end()) return;
    id = found->second.entry->id;
    n_refused = found->second.n_refused;
    epoch = leadership_.epoch;
    set_revision = leadership_.set_revision;
  }
  const auto leader = guarded([&] { return ledger_.range({keys_.leader(options_.group)}); });
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
  if (n_refused != 0) {
    MutexLock lock(mutex_);
    const auto found = pending_.find(shard);
    if (found == pending_.end()) return;
    found->second.n_unknown -= n_refused;
    found->second.n_refused = 0;
  }
  const auto set = guarded([&] { return ledger_.range({keys_.set(options_.group)}); });
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
    if (outcome && !forgotten_.contains(shard)) {
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
    const bool is_sent =
        std::ranges::any_of(pending_, [](const auto& item) { return item.second.n_unknown != 0; });
    if (is_sent) return fail(Code::kUnavailable, "an entry is on its way to the ledger");
    tails = tails_;
  }
  return change(tails);
}

bool Committer::wait_until_applied(NodeId node, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kStep{2};
  const auto deadline = Clock::now() + patience;
  MutexLock lock(mutex_);
  while (!has_applied(node, tail_numbers())) {
    if (stopped_ || Clock::now() >= deadline) return false;
    changed_.wait_for(mutex_, kStep);
  }
  return links_.contains(node);
}

bool Committer::has_member(NodeId node) const {
  MutexLock lock(mutex_);
  return leadership_.set.members.contains(node);
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

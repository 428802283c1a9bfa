#include "cluster/ledger/memory_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <thread>
#include <tuple>
#include <utility>

namespace quiver::cluster {
namespace {

constexpr std::string_view kMemoryVersion = "3.4.23";

std::int64_t property(const KeyValue& item, Condition::What what) {
  if (what == Condition::What::kVersion) return item.version;
  return what == Condition::What::kCreateRevision ? item.create_revision : item.mod_revision;
}

tl::unexpected<Error> full() {
  return fail(Code::kResourceExhausted, "the ledger is full: mvcc: database space exceeded");
}

bool may_be_repeated(LedgerCall call) {
  using enum LedgerCall;
  return call == kRange || call == kGrantLease || call == kKeepAlive || call == kStatus;
}

tl::unexpected<Error> no_answer(LedgerCall call) {
  if (may_be_repeated(call)) return fail(Code::kUnavailable, "the ledger did not answer");
  return fail(Code::kDeadlineExceeded, "the ledger did not answer: the outcome is not known");
}

}  // namespace

Result<Outcome> MemoryLedgerStore::transact(const Transaction& transaction) {
  QV_TRY(check(transaction));
  MutexLock lock(mutex_);
  expire();
  for (const Condition& condition : transaction.conditions) {
    if (!holds(condition)) return Outcome{.succeeded = false, .revision = revision_};
  }
  QV_TRY(check_puts(transaction));
  bool has_changed = false;
  for (const Write& write : transaction.writes) {
    if (write.value) put(write, revision_ + 1);
    const bool has_erased = !write.value && erase(find(write.key, write.end));
    has_changed = has_changed || write.value || has_erased;
  }
  if (has_changed) ++revision_;
  return Outcome{.succeeded = true, .revision = revision_};
}

Result<RangeAnswer> MemoryLedgerStore::range(const RangeRequest& request) {
  QV_TRY(check(request));
  MutexLock lock(mutex_);
  expire();
  RangeAnswer answer{.items = {}, .revision = revision_};
  const Span span = find(request.from, request.end);
  for (auto item = span.begin; item != span.end; ++item) {
    answer.more = request.limit > 0 && std::ssize(answer.items) == request.limit;
    if (answer.more) break;
    answer.items.push_back(item->second);
  }
  return answer;
}

Result<LeaseId> MemoryLedgerStore::grant_lease(std::chrono::seconds ttl) {
  if (ttl < std::chrono::seconds(1)) {
    return fail(Code::kInvalidArgument, fmt::format("a lease of {} s is too short", ttl.count()));
  }
  MutexLock lock(mutex_);
  expire();
  if (is_full_) return full();
  leases_.emplace(++last_lease_, Lease{.ttl = ttl, .end = clock_() + ttl});
  return last_lease_;
}

Result<bool> MemoryLedgerStore::keep_alive(LeaseId lease) {
  MutexLock lock(mutex_);
  expire();
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return false;
  found->second.end = clock_() + found->second.ttl;
  return true;
}

Result<> MemoryLedgerStore::revoke_lease(LeaseId lease) {
  MutexLock lock(mutex_);
  expire();
  if (remove_lease(lease)) return {};
  return fail(Code::kNotFound, fmt::format("the ledger has no lease {}", lease));
}

Result<> MemoryLedgerStore::compact(Revision revision) {
  MutexLock lock(mutex_);
  expire();
  if (revision <= compacted_ || revision > revision_) {
    return fail(Code::kOutOfRange,
                fmt::format("cannot compact the ledger to revision {}: wanted one of {} to {}",
                            revision, compacted_ + 1, revision_));
  }
  compacted_ = revision;
  return {};
}

Result<LedgerStatus> MemoryLedgerStore::status() {
  MutexLock lock(mutex_);
  expire();
  LedgerStatus status{.version = std::string(kMemoryVersion), .leader = 1, .member = 1};
  for (const auto& [key, item] : items_) status.db_bytes += key.size() + item.value.size();
  status.raft_term = 1;
  status.revision = revision_;
  return status;
}

void MemoryLedgerStore::expire_lease(LeaseId lease) {
  MutexLock lock(mutex_);
  remove_lease(lease);
}

void MemoryLedgerStore::set_full(bool is_full) {
  MutexLock lock(mutex_);
  is_full_ = is_full;
}

/// Removes leases whose time is over, in the order in which it ended.
void MemoryLedgerStore::expire() {
  const Time now = clock_();
  std::vector<std::pair<Time, LeaseId>> over;
  for (const auto& [id, lease] : leases_) {
    if (lease.end <= now) over.emplace_back(lease.end, id);
  }
  std::ranges::sort(over);
  for (const auto& [end, id] : over) remove_lease(id);
}

MemoryLedgerStore::Span MemoryLedgerStore::find(const std::string& from, const std::string& end) {
  const auto begin = items_.lower_bound(from);
  if (end.empty()) return {begin, items_.upper_bound(from)};
  if (end == kNoEnd) return {begin, items_.end()};
  return {begin, end <= from ? begin : items_.lower_bound(end)};
}

bool MemoryLedgerStore::holds(const Condition& condition) {
  const auto found = items_.find(condition.key);
  return (found == items_.end() ? 0 : property(found->second, condition.what)) == condition.value;
}

Result<> MemoryLedgerStore::check_puts(const Transaction& transaction) {
  for (const Write& write : transaction.writes) {
    if (!write.value) continue;
    if (is_full_) return full();
    if (write.lease == 0 || leases_.contains(write.lease)) continue;
    return fail(Code::kFailedPrecondition, fmt::format("lease {} is gone", write.lease));
  }
  return {};
}

bool MemoryLedgerStore::erase(Span span) {
  for (auto item = span.begin; item != span.end; ++item) detach(item->second);
  const bool has_any = span.begin != span.end;
  items_.erase(span.begin, span.end);
  return has_any;
}

void MemoryLedgerStore::put(const Write& write, Revision revision) {
  KeyValue& item = items_[write.key];
  detach(item);
  item.key = write.key;
  item.value = *write.value;
  if (item.version == 0) item.create_revision = revision;
  item.mod_revision = revision;
  ++item.version;
  item.lease = write.lease;
  if (item.lease != 0) leases_.at(item.lease).keys.insert(item.key);
}

/// The item's lease forgets it.
void MemoryLedgerStore::detach(const KeyValue& item) {
  const auto lease = leases_.find(item.lease);
  if (lease != leases_.end()) lease->second.keys.erase(item.key);
}

/// Deletes the lease and its keys, in a revision of their own. False: there is no such lease.
bool MemoryLedgerStore::remove_lease(LeaseId lease) {
  const auto node = leases_.extract(lease);
  if (node.empty()) return false;
  for (const std::string& key : node.mapped().keys) items_.erase(key);
  if (!node.mapped().keys.empty()) ++revision_;
  return true;
}

/// Does the call as the fault for it says.
template <class Call>
auto MemoryLedger::run(LedgerCall kind, Call&& call, const Transaction* transaction)
    -> decltype(call()) {
  using What = LedgerFault::What;
  const LedgerFault fault = next_fault(kind);
  if (fault.delay.count() > 0) std::this_thread::sleep_for(fault.delay);
  if (fault.what == What::kNotDone) return fail(Code::kUnavailable, "cannot reach the ledger");
  if (fault.what == What::kLate && transaction != nullptr) hold_back(*transaction);
  if (fault.what == What::kNotKnown || fault.what == What::kLate) return no_answer(kind);
  auto answer = call();
  if (fault.what == What::kAnswerLost) return no_answer(kind);
  if (fault.what == What::kFull) return fail(Code::kResourceExhausted, "the ledger is full");
  return answer;
}

LedgerFault MemoryLedger::next_fault(LedgerCall kind) {
  if (!is_reachable_) return {.what = LedgerFault::What::kNotDone};
  Faults faults;
  {
    MutexLock lock(mutex_);
    faults = faults_;
  }
  return faults ? faults(kind) : LedgerFault();
}

void MemoryLedger::hold_back(const Transaction& transaction) {
  MutexLock lock(mutex_);
  late_.push_back(transaction);
}

Result<Outcome> MemoryLedger::transact(const Transaction& transaction) {
  return run(
      LedgerCall::kTransact, [&] { return store_->transact(transaction); }, &transaction);
}

Result<RangeAnswer> MemoryLedger::range(const RangeRequest& request) {
  return run(LedgerCall::kRange, [&] { return store_->range(request); });
}

Result<LeaseId> MemoryLedger::grant_lease(std::chrono::seconds ttl) {
  return run(LedgerCall::kGrantLease, [&] { return store_->grant_lease(ttl); });
}

Result<bool> MemoryLedger::keep_alive(LeaseId lease) {
  return run(LedgerCall::kKeepAlive, [&] { return store_->keep_alive(lease); });
}

Result<> MemoryLedger::revoke_lease(LeaseId lease) {
  return run(LedgerCall::kRevokeLease, [&] { return store_->revoke_lease(lease); });
}

Result<> MemoryLedger::compact(Revision revision) {
  return run(LedgerCall::kCompact, [&] { return store_->compact(revision); });
}

Result<LedgerStatus> MemoryLedger::status() {
  return run(LedgerCall::kStatus, [&] { return store_->status(); });
}

void MemoryLedger::set_faults(Faults faults) {
  MutexLock lock(mutex_);
  faults_ = std::move(faults);
}

void MemoryLedger::deliver_late() {
  std::vector<Transaction> late;
  {
    MutexLock lock(mutex_);
    late.swap(late_);
  }
  for (const Transaction& transaction : late) std::ignore = store_->transact(transaction);
}

}  // namespace quiver::cluster

// A ledger in memory, for tests. It behaves as etcd does, deterministically, and fails on demand.
//
// Nodes of a test share one `MemoryLedgerStore`; each has its own `MemoryLedger`, so one of them
// can be cut off, or lose answers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "cluster/ledger/ledger.h"

namespace quiver::cluster {

/// Thread-safe.
class MemoryLedgerStore final : public Ledger {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Clock = std::function<Time()>;
  using Duration = std::chrono::steady_clock::duration;

  /// Leases expire by `clock`, which is called with a lock held. A clock that a test moves by hand
  /// makes expiry deterministic.
  explicit MemoryLedgerStore(Clock clock = std::chrono::steady_clock::now)
      : clock_(std::move(clock)) {}

  Result<Outcome> transact(const Transaction& transaction) override;
  Result<RangeAnswer> range(const RangeRequest& request) override;
  Result<LeaseId> grant_lease(std::chrono::seconds ttl) override;
  Result<bool> keep_alive(LeaseId lease) override;
  Result<> revoke_lease(LeaseId lease) override;
  Result<> compact(Revision revision) override;
  Result<LedgerStatus> status() override;

  /// The lease's time is over now, whatever the clock says.
  void expire_lease(LeaseId lease);
  /// From now on puts and new leases are refused with kResourceExhausted, or no longer.
  void set_full(bool is_full);

 private:
  using Items = std::map<std::string, KeyValue>;
  struct Lease {
    Duration ttl;
    Time end;
    std::set<std::string> keys = {};
  };
  struct Span {
    Items::iterator begin, end;
  };

  void expire() QV_REQUIRES(mutex_);
  [[nodiscard]] Span find(const std::string& from, const std::string& end) QV_REQUIRES(mutex_);
  [[nodiscard]] bool holds(const Condition& condition) QV_REQUIRES(mutex_);
  [[nodiscard]] Result<> check_puts(const Transaction& transaction) QV_REQUIRES(mutex_);
  bool erase(Span span) QV_REQUIRES(mutex_);
  void put(const Write& write, Revision revision) QV_REQUIRES(mutex_);
  void detach(const KeyValue& item) QV_REQUIRES(mutex_);
  bool remove_lease(LeaseId lease) QV_REQUIRES(mutex_);

  const Clock clock_;
  Mutex mutex_;
  Items items_ QV_GUARDED_BY(mutex_);
  std::map<LeaseId, Lease> leases_ QV_GUARDED_BY(mutex_);
  LeaseId last_lease_ QV_GUARDED_BY(mutex_) = 0;
  Revision revision_ QV_GUARDED_BY(mutex_) = 1;
  Revision compacted_ QV_GUARDED_BY(mutex_) = 0;
  bool is_full_ QV_GUARDED_BY(mutex_) = false;
};

enum class LedgerCall : std::uint8_t {
  kTransact,
  kRange,
  kGrantLease,
  kKeepAlive,
  kRevokeLease,
  kCompact,
  kStatus,
};

/// What becomes of one call.
struct LedgerFault {
  enum class What : std::uint8_t {
    kNone,
    kNotDone,     ///< kUnavailable
    kNotKnown,    ///< not done; kDeadlineExceeded, or kUnavailable of calls that may be repeated
    kAnswerLost,  ///< done; as kNotKnown
    kFull,        ///< done; kResourceExhausted
    kLate,        ///< transactions: kDeadlineExceeded, done by `deliver_late`; others as kNotKnown
  };
  What what = What::kNone;
  std::chrono::milliseconds delay{0};  ///< before anything is done
};

/// One node's way to the store. Thread-safe.
class MemoryLedger final : public Ledger {
 public:
  using Faults = std::function<LedgerFault(LedgerCall)>;

  explicit MemoryLedger(
      std::shared_ptr<MemoryLedgerStore> store = std::make_shared<MemoryLedgerStore>())
      : store_(std::move(store)) {}

  Result<Outcome> transact(const Transaction& transaction) override;
  Result<RangeAnswer> range(const RangeRequest& request) override;
  Result<LeaseId> grant_lease(std::chrono::seconds ttl) override;
  Result<bool> keep_alive(LeaseId lease) override;
  Result<> revoke_lease(LeaseId lease) override;
  Result<> compact(Revision revision) override;
  Result<LedgerStatus> status() override;

  /// Calls of an unreachable store return kUnavailable.
  void set_reachable(bool is_reachable) { is_reachable_ = is_reachable; }
  /// `faults` is asked before each call that reaches the store; empty: no faults.
  void set_faults(Faults faults);
  /// Does the transactions that `kLate` held back, in their order. Their answers are lost.
  void deliver_late();
  [[nodiscard]] MemoryLedgerStore& store() { return *store_; }

 private:
  template <class Call>
  auto run(LedgerCall kind, Call&& call, const Transaction* transaction = nullptr)
      -> decltype(call());
  [[nodiscard]] LedgerFault next_fault(LedgerCall kind);
  void hold_back(const Transaction& transaction);

  const std::shared_ptr<MemoryLedgerStore> store_;
  std::atomic<bool> is_reachable_ = true;
  Mutex mutex_;
  Faults faults_ QV_GUARDED_BY(mutex_);
  std::vector<Transaction> late_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::cluster

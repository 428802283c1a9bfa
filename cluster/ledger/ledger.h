// A ledger: the small, replicated store in which a cluster keeps order, commitment and leadership.
//
// A change of the cluster has happened once it stands in the ledger. All writes are transactions
// with conditions; the ledger runs them one after another. Keys and values are any bytes. Keys are
// ordered as unsigned bytes and may not be empty.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quiver::cluster {

/// Number of the ledger's last change. It grows by one with each transaction that changes a key.
using Revision = std::int64_t;
/// 0: none.
using LeaseId = std::int64_t;

/// An end of a range that lies after every key, as etcd writes it.
inline constexpr std::string_view kNoEnd{"\0", 1};
/// Limits of a transaction; etcd's defaults.
inline constexpr std::size_t kMaxOperations = 128;  ///< conditions, and writes
inline constexpr std::size_t kMaxRequestBytes = std::size_t{3} << 19;

struct KeyValue {
  std::string key;
  std::string value;
  Revision create_revision = 0;  ///< of the write that made the key
  Revision mod_revision = 0;     ///< of its last write
  std::int64_t version = 0;      ///< number of writes since it was made
  LeaseId lease = 0;             ///< the key vanishes with it
  bool operator==(const KeyValue&) const = default;
};

/// Holds if the property equals `value`. A key that is absent has 0 for each.
struct Condition {
  enum class What : std::uint8_t { kVersion, kCreateRevision, kModRevision };
  std::string key;
  What what = What::kVersion;
  std::int64_t value = 0;
};

/// Puts a key or deletes keys.
struct Write {
  std::string key;
  std::optional<std::string> value = {};  ///< nullopt: delete
  std::string end = {};                   ///< deletes only: [key, end) if not empty
  LeaseId lease = 0;                      ///< puts only; the key is bound to this lease alone
};

/// `writes` are done if all `conditions` hold. No key may be put twice or be put and deleted.
struct Transaction {
  std::vector<Condition> conditions = {};
  std::vector<Write> writes = {};
};

struct Outcome {
  bool succeeded = false;  ///< all conditions held
  Revision revision = 0;   ///< of the ledger, after the transaction
};

struct RangeRequest {
  std::string from;
  std::string end = {};    ///< empty: the one key; `kNoEnd`: all keys from `from`
  std::int64_t limit = 0;  ///< most items of an answer; 0: no limit
};

struct RangeAnswer {
  std::vector<KeyValue> items;  ///< ascending
  Revision revision = 0;        ///< of the ledger, when it was read
  bool more = false;            ///< the limit left keys out
};

/// What the member that answers knows of itself. It may be behind the others.
struct LedgerStatus {
  std::string version;  ///< of its software: "3.4.23"
  std::uint64_t db_bytes = 0;
  std::uint64_t leader = 0;  ///< id of a member; 0: none is known
  std::uint64_t member = 0;  ///< id of the one that answers
  std::uint64_t raft_term = 0;
  Revision revision = 0;
};

/// Thread-safe. Calls block, for a time that the implementation bounds.
///
/// Errors of every call: kUnavailable: surely not done, no member was reached. kDeadlineExceeded:
/// it is not known whether it was done, and it may still be done later. Calls that may be repeated
/// (`range`, `grant_lease`, `keep_alive`, `status`) fail with kUnavailable then too.
/// kUnauthenticated and kPermissionDenied: the ledger wants credentials.
class Ledger {
 public:
  virtual ~Ledger() = default;

  /// Does all or nothing. kResourceExhausted: the ledger is full, and takes only deletes; a later
  /// read shows whether it was done all the same. kFailedPrecondition: a put names a lease that is
  /// gone. kInvalidArgument: a key is empty or written twice, or a limit is exceeded. After these
  /// two nothing was done.
  [[nodiscard]] virtual Result<Outcome> transact(const Transaction& transaction) = 0;
  /// Linearizable: sees every transaction whose outcome was known before the call.
  [[nodiscard]] virtual Result<RangeAnswer> range(const RangeRequest& request) = 0;
  /// `ttl`: at least 1 s. The ledger may choose a longer one (etcd: 2 s at least, as it is run
  /// here). A lease expires when it was not kept alive for its time, never earlier.
  /// kResourceExhausted: the ledger is full.
  [[nodiscard]] virtual Result<LeaseId> grant_lease(std::chrono::seconds ttl) = 0;
  /// Starts the lease's time anew. False: the lease is gone, and its keys with it.
  [[nodiscard]] virtual Result<bool> keep_alive(LeaseId lease) = 0;
  /// Deletes the lease and its keys. kNotFound: it is gone already.
  [[nodiscard]] virtual Result<> revoke_lease(LeaseId lease) = 0;
  /// Forgets what keys were before `revision`. kOutOfRange: already forgotten, or in the future.
  [[nodiscard]] virtual Result<> compact(Revision revision) = 0;
  [[nodiscard]] virtual Result<LedgerStatus> status() = 0;
};

/// The end of the range of all keys that start with `prefix`; `kNoEnd` if every key from `prefix`
/// does.
[[nodiscard]] std::string prefix_end(std::string_view prefix);

/// kInvalidArgument if every ledger must refuse the transaction or request.
[[nodiscard]] Result<> check(const Transaction& transaction);
[[nodiscard]] Result<> check(const RangeRequest& request);

}  // namespace quiver::cluster

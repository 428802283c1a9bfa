// The log of a shard whose changes count once the cluster's ledger says so.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "base/threads/lane.h"
#include "engine/write/entry.h"
#include "engine/write/shard_log.h"
#include "storage/rows/shard_store.h"

namespace quiver::engine {

/// In a store that nobody else uses: no entry is known any more, and one counts as applied. Durable
/// on return.
[[nodiscard]] Result<> begin_log_anew(storage::ShardStore& store);

/// Nothing is applied before it is committed. Bodies of entries are facts of the shard's store
/// (docs/formats/log-entry.md); rows, operations and the number of the last entry applied are
/// written together, after the body was synced.
class ReplicatedLog final : public ShardLog {
 public:
  /// All outlive the log.
  ReplicatedLog(ShardName name, storage::ShardStore& store, SerialLane& lane,
                Replication& replication)
      : name_(std::move(name)),
        store_(store),
        rows_(store),
        lane_(lane),
        replication_(replication) {}

  /// Called once, before anything else. kDataLoss if the number of the last entry is damaged.
  Result<> load();
  void append(const Staging& group, const Committed& committed) noexcept override;
  void confirm(const Committed& committed) noexcept override;
  void append_entries(const Staging& group, EntryNumber last,
                      const Committed& committed) noexcept override;
  [[nodiscard]] Result<std::optional<Seq>> last() const override { return rows_.last(); }
  [[nodiscard]] Result<> replay(Seq from, const Visit& visit) const override {
    return rows_.replay(from, visit);
  }
  [[nodiscard]] EntryNumber applied() const override { return applied_; }
  void set_visible() noexcept override { visible_ = applied_.load(); }
  bool wait_until_idle(std::chrono::milliseconds patience) override QV_EXCLUDES(mutex_);

  // Any thread.
  [[nodiscard]] const ShardName& name() const { return name_; }
  /// The number of the last entry that readers see: `applied()` or, for a moment, less.
  [[nodiscard]] EntryNumber visible() const { return visible_; }
  /// Durable on return. kInvalidArgument if `body` has another hash.
  [[nodiscard]] Result<> store_body(const EntryId& id, std::string_view body);
  /// nullopt if it is not here. kDataLoss if it is damaged.
  [[nodiscard]] Result<std::optional<std::string>> body(const EntryId& id) const;
  /// Removes the bodies of entries before `first_kept`.
  [[nodiscard]] Result<> trim(EntryNumber first_kept);

 private:
  /// Stores the body of `group` and sends it on its way.
  Result<> begin(const Staging& group, const Committed& committed);
  void end(const Staging& group, EntryNumber number, const Committed& committed,
           const Result<>& outcome) noexcept;
  Result<> write(const Staging& group, EntryNumber number);
  void set_busy(bool is_busy) QV_EXCLUDES(mutex_);

  const ShardName name_;
  storage::ShardStore& store_;
  const LocalLog rows_;  ///< reads what both kinds of log write
  SerialLane& lane_;
  Replication& replication_;
  std::atomic<EntryNumber> applied_ = 0;
  std::atomic<EntryNumber> visible_ = 0;

  Mutex mutex_;
  CondVar idle_;
  bool is_busy_ QV_GUARDED_BY(mutex_) = false;  ///< a group is on its way
};

}  // namespace quiver::engine

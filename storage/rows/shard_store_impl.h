// The state behind a `ShardStore`: the RowStore, its users, and its repair.
//
// Invariants
// - `row_store_` is replaced only by a repair, which holds `write_mutex_` and is alone inside the
//   gate, and by `close`. Everybody else uses it through `enter`.
// - After a failed write (`failed_`, then `undo_`) nothing more is written to that RowStore: its
//   log may end in a torn or unwanted record. The repair opens a new one, which moves the log's
//   contents into files. Then it writes back what the failed batch would have replaced, in case the
//   log held that batch.
// - A failed ingestion has changed nothing. A repair follows it too, because RocksDB may refuse
//   writes from then on.
// - RocksDB is not exception-safe: an exception during a write, a flush or a repair would leave its
//   memory and the disk in an unknown state. So it ends the process, and the log recovers
//   acknowledged writes.
// - A store that a full disk kept from being opened is open for reading only, and is repaired in
//   the same way.
// - `write_mutex_` is held across I/O, because it serialises writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/observe/log_limit.h"
#include "base/result.h"
#include "storage/rows/gate.h"
#include "storage/rows/row_store.h"
#include "storage/rows/shard_store.h"

namespace quiver::storage {

class ShardStore::Impl {
 public:
  /// Permission to use the RowStore, which stays open while this lives.
  class Inside {
   public:
    Inside(Gate& gate, RowStore& row_store) : gate_(&gate), row_store_(&row_store) {}
    ~Inside() {
      if (gate_ != nullptr) gate_->leave();
    }
    Inside(Inside&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), row_store_(other.row_store_) {}
    Inside& operator=(Inside&&) = delete;
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    RowStore* operator->() const { return row_store_; }
    RowStore& operator*() const { return *row_store_; }

   private:
    Gate* gate_;
    RowStore* row_store_;
  };

  Impl(std::string path, std::shared_ptr<Runtime> runtime)
      : path_(std::move(path)), runtime_(std::move(runtime)) {}

  Result<> open();
  Result<> open_read_only();
  void close() QV_EXCLUDES(write_mutex_);
  /// kUnavailable after `close`, or if a repair could not reopen the store.
  Result<Inside> enter();

  Result<> write(const RowBatch& batch, Sync sync) noexcept QV_EXCLUDES(write_mutex_);
  Result<> ingest(std::span<const std::string> names) noexcept QV_EXCLUDES(write_mutex_);
  Result<> reclaim();
  void cancel_work() { cancel_work_ = true; }
  StoreStats stats();
  [[nodiscard]] bool takes_writes() const { return !needs_repair_; }
  [[nodiscard]] const std::shared_ptr<Runtime>& runtime() const { return runtime_; }

 private:
  Result<> write_or_repair(const RowBatch& batch, Sync sync) QV_REQUIRES(write_mutex_);
  Result<> ingest_files(std::span<const std::string> names) QV_REQUIRES(write_mutex_);
  Result<> try_write(const RowBatch& batch, Sync sync) QV_REQUIRES(write_mutex_);
  Result<> repair() QV_REQUIRES(write_mutex_);
  Result<> prepare_undo() QV_REQUIRES(write_mutex_);
  /// Checks that the disk accepts enough new bytes to reopen the store.
  Result<> check_disk() QV_REQUIRES(write_mutex_);
  Result<> write_probe_file();
  Result<> reopen() QV_REQUIRES(write_mutex_);
  Result<> write_back() QV_REQUIRES(write_mutex_);

  const std::string path_;
  const std::shared_ptr<Runtime> runtime_;
  Gate gate_;
  std::unique_ptr<RowStore> row_store_;  // see the invariants
  std::atomic<bool> cancel_work_{false};
  std::atomic<bool> needs_repair_{false};
  std::atomic<std::uint64_t> rows_deleted_{0};
  LogLimit failures_;

  Mutex write_mutex_;
  std::optional<RowBatch> failed_ QV_GUARDED_BY(write_mutex_);
  std::optional<RowBatch> undo_ QV_GUARDED_BY(write_mutex_);
};

}  // namespace quiver::storage

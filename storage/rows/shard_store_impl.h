// The state behind a `ShardStore`: the opened database, who is using it, and how it is repaired.
//
// Invariants
// - `database_` is replaced only by a repair, which holds `write_mutex_` and has the gate for
//   itself, and by `close`. Everybody else uses it through `enter`.
// - After a write failed (`failed_`, then `undo_`) nothing is written to that RocksDB instance any
//   more: its log may end in a torn or unwanted record. The repair opens the database anew, which
//   moves the log's contents into files, and then writes back what the failed batch would have
//   replaced, in case the batch was found in the log.
// - An ingestion that failed has changed nothing; it too is followed by a repair, since RocksDB may
//   refuse writes from then on.
// - RocksDB is not written to throw: an exception in the middle of a write, a flush or a repair
//   would leave its state, and what is on disk, unknown. It ends the process, and the log brings
//   back what was acknowledged.
// - A store that a full disk kept from being opened is open for reading only, and is repaired in
// the
//   same way.
// - `write_mutex_` is held across I/O: it is what makes writes one after another.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/observe/log_limit.h"
#include "base/result.h"
#include "storage/rows/database.h"
#include "storage/rows/gate.h"
#include "storage/rows/shard_store.h"

namespace quiver::storage {

class ShardStore::Impl {
 public:
  /// Use of the database: it stays open as long as this lives.
  class Inside {
   public:
    Inside(Gate& gate, Database& database) : gate_(&gate), database_(&database) {}
    ~Inside() {
      if (gate_ != nullptr) gate_->leave();
    }
    Inside(Inside&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), database_(other.database_) {}
    Inside& operator=(Inside&&) = delete;
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    Database* operator->() const { return database_; }
    Database& operator*() const { return *database_; }

   private:
    Gate* gate_;
    Database* database_;
  };

  Impl(std::string path, std::shared_ptr<Runtime> runtime)
      : path_(std::move(path)), runtime_(std::move(runtime)) {}

  Result<> open();
  Result<> open_read_only();
  void close() QV_EXCLUDES(write_mutex_);
  /// kUnavailable after `close`, or if a repair could not open the database again.
  Result<Inside> enter();

  Result<> write(const RowBatch& batch) noexcept QV_EXCLUDES(write_mutex_);
  Result<> ingest(std::span<const std::string> names) noexcept QV_EXCLUDES(write_mutex_);
  Result<> reclaim();
  void cancel_work() { cancel_work_ = true; }
  StoreStats stats();
  [[nodiscard]] bool takes_writes() const { return !needs_repair_; }
  [[nodiscard]] const std::shared_ptr<Runtime>& runtime() const { return runtime_; }

 private:
  Result<> write_or_repair(const RowBatch& batch) QV_REQUIRES(write_mutex_);
  Result<> ingest_files(std::span<const std::string> names) QV_REQUIRES(write_mutex_);
  Result<> try_write(const RowBatch& batch) QV_REQUIRES(write_mutex_);
  Result<> repair() QV_REQUIRES(write_mutex_);
  Result<> prepare_undo() QV_REQUIRES(write_mutex_);
  /// The disk takes new bytes, enough of them to open the database again.
  Result<> check_disk() QV_REQUIRES(write_mutex_);
  Result<> write_probe_file();
  Result<> reopen() QV_REQUIRES(write_mutex_);
  Result<> write_back() QV_REQUIRES(write_mutex_);

  const std::string path_;
  const std::shared_ptr<Runtime> runtime_;
  Gate gate_;
  std::unique_ptr<Database> database_;  // see the invariants
  std::atomic<bool> cancel_work_{false};
  std::atomic<bool> needs_repair_{false};
  std::atomic<std::uint64_t> rows_deleted_{0};
  LogLimit failures_;

  Mutex write_mutex_;
  std::optional<RowBatch> failed_ QV_GUARDED_BY(write_mutex_);
  std::optional<RowBatch> undo_ QV_GUARDED_BY(write_mutex_);
};

}  // namespace quiver::storage

// RowStore: one opened RocksDB with three tables.
//
// RowStore writes batches, reads keys and ingests files, and returns RocksDB's statuses. ShardStore
// (shard_store.h) is what a shard keeps: it owns a RowStore, speaks of rows, operations and facts,
// lets readers in while it writes, and replaces the RowStore after a failed write.
#pragma once

#include <rocksdb/db.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/logs/synced_mark.h"
#include "storage/rows/row_batch.h"
#include "storage/rows/runtime_shared.h"
#include "storage/rows/slices.h"

namespace quiver::storage {

/// True if the store has the file that names the manifest. kDataLoss if that file is missing while
/// data is there: RocksDB would start an empty database.
[[nodiscard]] Result<bool> has_manifest(const std::string& path, rocksdb::Env& env);

/// Thread-safe, except that nothing may overlap with destruction.
class RowStore {
 public:
  /// Names of the tables, in the order of `RowBatch::Table`.
  static constexpr std::array<const char*, 3> kTableNames = {"points", "ops", "meta"};
  static std::vector<rocksdb::ColumnFamilyDescriptor> families(const RuntimeShared& shared);

  /// kDataLoss, with nothing changed, if logs or manifest are damaged beyond a torn end.
  static Result<std::unique_ptr<RowStore>> open(const std::string& path,
                                                const RuntimeShared& shared);
  /// Opens the store with the contents of its logs up to the first damage. Changes nothing on the
  /// disk. `write`, `ingest`, `flush` and `compact` fail.
  static Result<std::unique_ptr<RowStore>> open_read_only(const std::string& path,
                                                          const RuntimeShared& shared);
  /// Checks a store that is not open. kDataLoss if the log with the last synced change is missing
  /// and no table has that change. If the log is missing, which is normal after a flush, opens the
  /// store for reading.
  static Result<> check_end(const std::string& path, const RuntimeShared& shared,
                            const std::optional<SyncedState>& synced);
  ~RowStore();
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  rocksdb::Status write(const RowBatch& batch, bool sync);
  /// Adds files of table `points` whose key ranges do not overlap. Moves the files.
  rocksdb::Status ingest(const std::vector<std::string>& paths);
  [[nodiscard]] Result<std::optional<std::string>> get(RowBatch::Table table,
                                                       std::string_view key) const;
  [[nodiscard]] std::unique_ptr<rocksdb::Iterator> iterate(RowBatch::Table table) const;
  /// The batch that undoes `batch`, which must not be applied yet: the current value of each key
  /// that it changes.
  [[nodiscard]] Result<RowBatch> inverse_of(const RowBatch& batch) const;

  rocksdb::Status flush();
  /// Rewrites all tables to drop dead entries. Stops early if `cancelled` becomes true.
  rocksdb::Status compact(std::atomic<bool>& cancelled);
  /// Sum of a numeric RocksDB property over the tables.
  [[nodiscard]] std::uint64_t sum_of(const std::string& property) const;

  [[nodiscard]] rocksdb::DB& db() const { return *db_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle(RowBatch::Table table) const {
    return handles_[static_cast<std::size_t>(table)];
  }

 private:
  static constexpr std::size_t kTables = kTableNames.size();
  explicit RowStore(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Result<> add_ops_below(std::string_view end, RowBatch& to) const;
  /// Records the last sequence number and the log's size after a synced write.
  void note_synced();

  using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
  void adopt(rocksdb::DB* db, const Handles& handles);

  std::string path_;
  std::shared_ptr<SyncedMark> mark_;  // nullptr if opened for reading only
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, kTables> handles_{};  // owned; freed before db_
};

}  // namespace quiver::storage

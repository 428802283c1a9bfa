// One opened RocksDB database with its three tables.
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

namespace quiver::storage {

[[nodiscard]] inline rocksdb::Slice to_slice(std::string_view text) {
  return {text.data(), text.size()};
}
[[nodiscard]] inline std::string_view to_view(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

/// True if there is the file that names the manifest. kDataLoss if it is gone and data is there:
/// RocksDB would start an empty database.
[[nodiscard]] Result<bool> has_manifest(const std::string& path, rocksdb::Env& env);

/// Thread-safe but for destruction, which nothing else may overlap.
class Database {
 public:
  /// Of `RowBatch::Table`, in its order.
  static constexpr std::array<const char*, 3> kTableNames = {"points", "ops", "meta"};
  static std::vector<rocksdb::ColumnFamilyDescriptor> families(const Runtime::Shared& shared);

  /// kDataLoss, with nothing changed, if logs or manifest are damaged beyond a torn end.
  static Result<std::unique_ptr<Database>> open(const std::string& path,
                                                const Runtime::Shared& shared);
  /// As it is, with what its logs hold up to the first damage, and without a change on the disk.
  /// `write`, `ingest`, `flush` and `compact` fail.
  static Result<std::unique_ptr<Database>> open_read_only(const std::string& path,
                                                          const Runtime::Shared& shared);
  /// Of a store that is not open: kDataLoss if the log that the last synced change stands in is
  /// gone and no table has that change. Opens it for reading if the log is gone, as after a flush.
  static Result<> check_end(const std::string& path, const Runtime::Shared& shared,
                            const std::optional<SyncedState>& synced);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::Status write(const RowBatch& batch, bool sync);
  /// Of files of `points`, whose ranges of keys do not overlap. Moves them.
  rocksdb::Status ingest(const std::vector<std::string>& paths);
  [[nodiscard]] Result<std::optional<std::string>> get(RowBatch::Table table,
                                                       std::string_view key) const;
  [[nodiscard]] std::unique_ptr<rocksdb::Iterator> iterate(RowBatch::Table table) const;
  /// What undoes `batch`, which is not applied: the present value of every key that it touches.
  [[nodiscard]] Result<RowBatch> inverse_of(const RowBatch& batch) const;

  rocksdb::Status flush();
  /// Rewrites all tables without what is dead, until `*cancelled`.
  rocksdb::Status compact(std::atomic<bool>& cancelled);
  /// Sum over the tables of one of RocksDB's numbers.
  [[nodiscard]] std::uint64_t sum_of(const std::string& property) const;

  [[nodiscard]] rocksdb::DB& db() const { return *db_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle(RowBatch::Table table) const {
    return handles_[static_cast<std::size_t>(table)];
  }

 private:
  static constexpr std::size_t kTables = kTableNames.size();
  explicit Database(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Result<> add_ops_below(std::string_view end, RowBatch& to) const;
  /// What is on stable storage now that a write was synced.
  void note_synced();

  using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
  void adopt(rocksdb::DB* db, const Handles& handles);

  std::string path_;
  std::shared_ptr<SyncedMark> mark_;  // nullptr: opened for reading only
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, kTables> handles_{};  // owned; freed before db_
};

}  // namespace quiver::storage

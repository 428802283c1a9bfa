// ShardStore: the rows, the operation log and the facts of one shard, kept durably.
//
// It owns one RowStore (row_store.h), an opened RocksDB, and replaces it after a failed write.
// Layout: docs/formats/shard-store.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "storage/rows/row_batch.h"
#include "storage/rows/row_file.h"
#include "storage/rows/runtime.h"
#include "storage/rows/store_links.h"

namespace quiver::storage {

struct StoreStats {
  std::uint64_t rows_estimate = 0;             ///< inexact while rows are overwritten
  std::uint64_t memtable_bytes = 0;            ///< not yet in files
  std::uint64_t pending_compaction_bytes = 0;  ///< estimated work of the background threads
  std::uint64_t blob_bytes = 0;                ///< large row values in files, live or dead
  std::uint64_t blob_garbage_bytes = 0;        ///< dead part of `blob_bytes`, as far as known
  std::uint64_t rows_deleted = 0;  ///< `delete_row`s since the opening or the last `reclaim`
  bool healthy = true;             ///< false: the last write failed; reads still work
};

/// Whether opening may create the store.
enum class Opening : std::uint8_t { kMayCreate, kMustExist };

/// Whether a batch is on stable storage when `write` returns.
enum class Sync : std::uint8_t { kNo, kYes };

/// Any number of threads may read while others write. Writes are serialised inside.
///
/// Errors: kResourceExhausted "no space left on device ..."; kDataLoss for damaged files;
/// kUnavailable for other I/O errors and after `close`; kInternal for the rest. The text names the
/// operation and the path.
///
/// After a failed write the store refuses writes until the disk accepts bytes again. Each `write`
/// (an empty batch too) tries, and repairs the store in place. Reads continue meanwhile and wait
/// only while a repair reopens the database.
///
/// A view given to a visitor is valid during that call only. A visitor may read from the store but
/// must not write to it. A long scan keeps obsolete files alive.
class ShardStore {
 public:
  using RowVisitor = std::function<void(std::size_t, std::optional<std::string_view>)>;
  using RowScan = std::function<bool(const PointId&, std::string_view)>;
  using OpScan = std::function<bool(Seq, std::string_view)>;
  using MetaScan = std::function<bool(std::string_view, std::string_view)>;

  /// Creates the store (and missing parents) if `path` has none. Recovers acknowledged writes. On a
  /// full disk an existing store is opened for reading.
  static Result<std::unique_ptr<ShardStore>> open(const std::string& path,
                                                  std::shared_ptr<Runtime> runtime);
  /// Opens the store with its logs up to the first damage. Changes nothing on the disk; writes
  /// fail.
  static Result<std::unique_ptr<ShardStore>> open_read_only(const std::string& path,
                                                            std::shared_ptr<Runtime> runtime);
  /// Removes the store at `path` with all its files; succeeds if there is none. It must be closed.
  static Result<> destroy(const std::string& path);

  ~ShardStore();
  ShardStore(const ShardStore&) = delete;
  ShardStore& operator=(const ShardStore&) = delete;

  /// Applies all of `batch` or nothing; on stable storage on return (if `RuntimeOptions::sync`).
  /// After an error none of it is visible, now or after the repair. Only if the process ends before
  /// the repair may the next opening find the whole batch.
  /// Sync::kNo: on stable storage with the next batch that is.
  Result<> write(const RowBatch& batch, Sync sync = Sync::kYes);

  /// Starts a file of rows beside the store, to be ingested. `name` is plain and ends with
  /// kRowFileSuffix. Any number of files may be written at a time, each for its own range of ids.
  [[nodiscard]] RowFileWriter new_row_file(std::string_view name) const;
  /// Adds the rows of finished row files to the store and replaces rows of the same ids: all or
  /// nothing, on stable storage on return, visible at once. Moves the files instead of copying
  /// them. A failure is repaired as in `write`; the files are still there unless their rows were
  /// added.
  Result<> ingest(std::span<const std::string> names);
  /// Removes the row files with these names that exist.
  Result<> remove_row_files(std::span<const std::string> names);
  /// Names of row files that were not ingested.
  Result<std::vector<std::string>> row_files() const;

  Result<std::optional<std::string>> row(const PointId& id) const;
  /// Calls `visit(i, row of ids[i])` once for each id, in order; nullopt if there is no row.
  Result<> rows(std::span<const PointId> ids, const RowVisitor& visit) const;
  /// Visits rows ascending from `from` (inclusive; nullopt: from the first) until `visit` returns
  /// false. Reads the state at the time of the call.
  Result<> scan_rows(std::optional<PointId> from, const RowScan& visit) const;

  /// Visits operations ascending from `from` (inclusive) until `visit` returns false.
  Result<> scan_ops(Seq from, const OpScan& visit) const;
  Result<std::optional<Seq>> last_op() const;

  Result<std::optional<std::string>> meta(std::string_view key) const;
  /// Visits facts whose keys start with `prefix`, in byte order, until `visit` returns false.
  Result<> scan_meta(std::string_view prefix, const MetaScan& visit) const;

  /// Names of the store's files, each with a leading slash.
  Result<std::vector<std::string>> files() const;
  /// Reads every byte of tables and blobs and verifies checksums. kDataLoss names the damage.
  Result<> verify() const;
  /// Writes memory to files and drops the log of those writes.
  Result<> flush();
  /// Hard links the files of the store below `target`, an existing, empty directory on the same
  /// file system. No write may run beside it. Takes about 20 us for each file, whatever its size.
  Result<StoreLinks> link_files(const std::string& target) const;
  /// Returns the space of deleted and overwritten rows by rewriting the live ones. Takes time in
  /// proportion to the store; reads and writes continue. One call at a time.
  Result<> reclaim();
  /// Ends a running `reclaim` early.
  void cancel_reclaim();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Bytes that the file system has allocated to the store.
  [[nodiscard]] std::uint64_t disk_bytes() const;
  [[nodiscard]] StoreStats stats() const;
  /// kUnavailable if somebody removed or emptied the store's directory. Costs one system call.
  [[nodiscard]] Result<> check_place() const;
  /// False after a failed write, or if the disk was full at the opening. Reads continue, and each
  /// `write` (an empty batch too) tries a repair.
  [[nodiscard]] bool takes_writes() const;

  /// Ends running work; later calls return kUnavailable. The destructor calls it.
  Result<> close();

 private:
  class Impl;
  ShardStore(std::string path, std::unique_ptr<Impl> impl);

  std::string path_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quiver::storage

// The rows, the operation log and the small facts of one shard: one RocksDB database.
//
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

namespace quiver::storage {

struct StoreStats {
  std::uint64_t rows_estimate = 0;             ///< may be off while rows are overwritten
  std::uint64_t memtable_bytes = 0;            ///< not yet in files
  std::uint64_t pending_compaction_bytes = 0;  ///< estimated work of the background threads
  std::uint64_t blob_bytes = 0;                ///< large row values in files, live or not
  std::uint64_t blob_garbage_bytes = 0;        ///< of those, known to be dead
  std::uint64_t rows_deleted = 0;              ///< `delete_row`s since opening or `reclaim`
  bool healthy = true;                         ///< false: the last write failed, reads go on
};

/// Whether an opening may make the store.
enum class Opening : std::uint8_t { kMayCreate, kMustExist };

/// Any number of threads may read while others write; writes are serialised inside.
///
/// Errors: kResourceExhausted "no space left on device ..."; kDataLoss for damaged files;
/// kUnavailable for other I/O errors and after `close`; kInternal for the rest. The text names the
/// operation and the path.
///
/// After a failed write the store refuses writes until the disk takes bytes again; each `write`
/// (an empty batch too) tries, and repairs the store in place. Reads go on meanwhile, waiting only
/// while a repair reopens the database.
///
/// A view given to a visitor is valid during that call only. A visitor may read from the store;
/// it must not write to it, and a scan that lasts keeps files alive that are no longer needed.
class ShardStore {
 public:
  using RowVisitor = std::function<void(std::size_t, std::optional<std::string_view>)>;
  using RowScan = std::function<bool(const PointId&, std::string_view)>;
  using OpScan = std::function<bool(Seq, std::string_view)>;
  using MetaScan = std::function<bool(std::string_view, std::string_view)>;

  /// Creates the store (and missing parents) if `path` has none. Recovers what was acknowledged. On
  /// a full disk an existing one is opened for reading.
  static Result<std::unique_ptr<ShardStore>> open(const std::string& path,
                                                  std::shared_ptr<Runtime> runtime);
  /// As it is, with its logs up to the first damage; nothing on the disk changes, and writes fail.
  static Result<std::unique_ptr<ShardStore>> open_read_only(const std::string& path,
                                                            std::shared_ptr<Runtime> runtime);
  /// Removes the store at `path` with all its files; fine if there is none. It must be closed.
  static Result<> destroy(const std::string& path);

  ~ShardStore();
  ShardStore(const ShardStore&) = delete;
  ShardStore& operator=(const ShardStore&) = delete;

  /// All of `batch` or nothing; on stable storage on return (if `RuntimeOptions::sync`). After an
  /// error none of it is visible, now or after the repair; only if the process ends before the
  /// repair may the batch be found whole at the next opening.
  Result<> write(const RowBatch& batch);

  /// A file of rows beside the store, to be ingested; `name` is plain and ends with kRowFileSuffix.
  /// Any number at a time, each for a range of ids of its own.
  [[nodiscard]] RowFileWriter new_row_file(std::string_view name) const;
  /// Makes the rows of finished row files part of the store, replacing rows of the same ids: all or
  /// nothing, on stable storage on return, readers see them at once. The files are moved, not
  /// copied. A failure is repaired as that of `write`, and the files are still there unless the
  /// rows are in.
  Result<> ingest(std::span<const std::string> names);
  /// Removes the row files of these names that exist.
  Result<> remove_row_files(std::span<const std::string> names);
  /// Names of row files that were not ingested.
  Result<std::vector<std::string>> row_files() const;

  Result<std::optional<std::string>> row(const PointId& id) const;
  /// Calls `visit(i, row of ids[i])` once for each id, i ascending; nullopt if there is no row.
  Result<> rows(std::span<const PointId> ids, const RowVisitor& visit) const;
  /// Ascending from `from` (inclusive; nullopt: from the first) until `visit` returns false. Sees
  /// the state at the call.
  Result<> scan_rows(std::optional<PointId> from, const RowScan& visit) const;

  /// Ascending from `from` (inclusive) until `visit` returns false.
  Result<> scan_ops(Seq from, const OpScan& visit) const;
  Result<std::optional<Seq>> last_op() const;

  Result<std::optional<std::string>> meta(std::string_view key) const;
  /// Keys that start with `prefix`, in byte order, until `visit` returns false.
  Result<> scan_meta(std::string_view prefix, const MetaScan& visit) const;

  /// Names of the files that belong to it, with a slash before each.
  Result<std::vector<std::string>> files() const;
  /// Reads every byte of tables and blobs and compares checksums. kDataLoss names what is damaged.
  Result<> verify() const;
  /// Writes memory to files; the log before that moment is dropped.
  Result<> flush();
  /// Gives the space of deleted and overwritten rows back, by rewriting what is left. Takes time
  /// in proportion to the store; reads and writes go on. One at a time.
  Result<> reclaim();
  /// Ends a `reclaim` that runs early.
  void cancel_reclaim();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Bytes that the file system has allocated to the store.
  [[nodiscard]] std::uint64_t disk_bytes() const;
  [[nodiscard]] StoreStats stats() const;
  /// kUnavailable if the store's directory was removed or emptied by somebody else. One system
  /// call.
  [[nodiscard]] Result<> check_place() const;
  /// False after a write failed, or if the disk was full at the opening: reads go on, and each
  /// `write` (an empty batch too) tries to repair that.
  [[nodiscard]] bool takes_writes() const;

  /// Ends running work; later calls are kUnavailable. The destructor does it too.
  Result<> close();

 private:
  class Impl;
  ShardStore(std::string path, std::unique_ptr<Impl> impl);

  std::string path_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quiver::storage

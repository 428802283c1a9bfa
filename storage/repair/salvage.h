// Reads what is still readable in a damaged store. The store's files are not changed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "storage/rows/row_batch.h"
#include "storage/rows/runtime.h"
#include "storage/rows/shard_store.h"

namespace quiver::storage {

/// A store that is not open, in any state of damage.
class Salvage {
 public:
  enum class Effort : std::uint8_t {
    kLook,  ///< open the store without changing or replacing anything
    /// If the manifest is damaged: open hard links of its files, with a new manifest, in a
    /// temporary directory beside the store.
    kSave,
  };
  Salvage(std::string path, std::shared_ptr<Runtime> runtime, Effort effort);
  /// With kSave: `links` is the temporary directory, for a store that nothing may be put beside. It
  /// holds copies if the file system cannot link there.
  Salvage(std::string path, std::string links, std::shared_ptr<Runtime> runtime, Effort effort);
  ~Salvage();
  Salvage(const Salvage&) = delete;
  Salvage& operator=(const Salvage&) = delete;

  /// Everything wrong with manifest, logs and files; empty if all is well. Reads every byte of
  /// tables, blobs and logs.
  [[nodiscard]] std::vector<std::string> problems() const;

  /// The store up to the first damage in its logs; nullptr if RocksDB cannot open it at all.
  [[nodiscard]] const ShardStore* store() const { return store_.get(); }
  /// True if changes may be missing at its end or in its middle.
  [[nodiscard]] bool has_damaged_logs() const { return !logs_; }
  /// False if `SYNCED` is missing or unreadable: a log that was cut short would not be noticed.
  [[nodiscard]] bool has_synced_mark() const { return has_synced_mark_; }
  /// True if no file is missing, so that a row absent from the store is known to be deleted.
  [[nodiscard]] bool knows_all_files() const { return knows_all_files_; }

  using RowVisitor = std::function<void(const PointId&, std::string_view)>;
  /// Visits all readable rows, ascending by id. After an unreadable row it continues with the next
  /// id of `known` (ascending).
  void scan_rows(const std::vector<PointId>& known, const RowVisitor& visit) const;

  using BatchVisitor = std::function<void(const RowBatch&)>;
  /// Visits the batches of the logs that `store` does not hold because they come after damage, in
  /// order; all batches if there is no `store`.
  Result<> late_batches(const BatchVisitor& visit) const;

 private:
  void open(const std::string& path);
  void open_with_made_manifest();

  const std::string path_;
  const std::string links_;  ///< directory of links, if one is made
  const std::shared_ptr<Runtime> runtime_;
  Result<> files_;  ///< damage of the manifest, or why RocksDB cannot open the store
  Result<> logs_;
  bool has_synced_mark_ = false;
  bool knows_all_files_ = false;
  std::unique_ptr<ShardStore> store_;
};

}  // namespace quiver::storage

// What can still be read of a store that is damaged. Nothing on the disk is changed.
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

/// A store that no one has open, in whatever state it is.
class Salvage {
 public:
  enum class Effort : std::uint8_t {
    kLook,  ///< as it is
    kSave,  ///< if its manifest is damaged, through a directory of links beside it for which one is
            ///< made; that is removed at the end
  };
  Salvage(std::string path, std::shared_ptr<Runtime> runtime, Effort effort);
  ~Salvage();
  Salvage(const Salvage&) = delete;
  Salvage& operator=(const Salvage&) = delete;

  /// Empty if all is well: what is wrong with manifest, logs and files, read as a whole. Reads
  /// every byte of tables, blobs and logs.
  [[nodiscard]] std::vector<std::string> problems() const;

  /// The store as of the first damage in its logs; nullptr if RocksDB cannot open it at all.
  [[nodiscard]] const ShardStore* store() const { return store_.get(); }
  /// True if changes may be missing from its end, or from its middle.
  [[nodiscard]] bool has_damaged_logs() const { return !logs_; }
  /// True if a row that the store does not have is known to be deleted: no file of it is forgotten.
  [[nodiscard]] bool knows_all_files() const { return knows_all_files_; }

  using RowVisitor = std::function<void(const PointId&, std::string_view)>;
  /// All rows that can be read, ascending. Behind one that cannot be read it goes on with the next
  /// of `known` (ascending ids).
  void scan_rows(const std::vector<PointId>& known, const RowVisitor& visit) const;

  using BatchVisitor = std::function<void(const RowBatch&)>;
  /// Batches of the logs that `store` does not hold, since they stand behind damage, in order; all
  /// of them if there is no `store`.
  Result<> late_batches(const BatchVisitor& visit) const;

 private:
  void open(const std::string& path);
  void open_with_made_manifest();

  const std::string path_;
  const std::string links_;  ///< where the directory of links is, if there is one
  const std::shared_ptr<Runtime> runtime_;
  Result<> files_;  ///< of the manifest, or why RocksDB cannot open the store
  Result<> logs_;
  bool knows_all_files_ = false;
  std::unique_ptr<ShardStore> store_;
};

}  // namespace quiver::storage

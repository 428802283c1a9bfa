// Opening a shard: docs/formats/shard-store.md, docs/formats/segment.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "engine/shard/bulk_load.h"
#include "engine/shard/shard_context.h"
#include "engine/shard/state/manifest.h"
#include "engine/shard/state/manifest_writer.h"
#include "engine/shard/state/row_recovery.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "engine/shard/work_status.h"
#include "engine/write/shard_log.h"

namespace quiver::engine {

/// The directory of a shard's store.
[[nodiscard]] std::string rows_path(const std::string& shard);
/// Opens or creates what lies below `path`.
[[nodiscard]] Result<ShardFiles> open_shard_files(const std::string& path,
                                                  const ShardContext& context);

/// The truth is in the store's rows. The manifest says which sealed segments hold them up to which
/// change; for later changes the log names the points, whose newest rows are read from the store.
class Recovery {
 public:
  /// The parts of the shard that it fills. No other thread uses them yet.
  struct Parts {
    ShardCommon& common;
    SegmentTable& table;
    ManifestWriter& manifest;
    WorkStatus& status;
    const ShardLog& log;
    BulkLoad& bulk;
    RowRecovery& rows;
  };

  Recovery(const Parts& parts, const ShardContext& context) : parts_(parts), context_(context) {}

  /// `first_bulk`: of the collection's first shard, which knows what became of bulk loads; nullptr:
  /// it is this one. kDataLoss if the store is damaged or its rows are gone.
  Result<> run(const BulkLoad* first_bulk);

 private:
  /// nullopt: none was ever written.
  Result<std::optional<Manifest>> load_manifest() const;
  Result<bool> is_store_empty() const;
  /// kDataLoss if there are segments, but the store never held anything.
  Result<> check_rows_of_segments(std::span<const std::uint64_t> found) const;
  Result<> remove_orphans(const Manifest& manifest, std::span<const std::uint64_t> found);
  /// Gives new files an owner, which distinguishes them from files of other shards.
  Result<> set_owner();
  Result<> open_segments(const Manifest& manifest);
  Result<SegmentState> open_segment(std::uint64_t id) const;
  Result<> replay(Seq from);

  const Parts parts_;
  const ShardContext& context_;
};

}  // namespace quiver::engine

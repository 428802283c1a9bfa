// Whether a store looks openable, without opening it.
#pragma once

#include <string>

#include "base/result.h"
#include "storage/rows/runtime.h"
#include "storage/rows/shard_store.h"

namespace quiver::storage {

/// Reads RocksDB's manifest of the store at `path` and compares its checksums, and the sizes of its
/// files with what was synced: a few milliseconds, whatever the store holds. Fine if a crash
/// interrupted its creation, and unless it must exist if there is none. kDataLoss if the manifest
/// is damaged, is missing while data is there, or is not a shard store's.
[[nodiscard]] Result<> check_store(const std::string& path, const Runtime& runtime,
                                   Opening opening = Opening::kMayCreate);
/// Reads the logs of a store that is not open, too, as its opening will. kDataLoss if they are
/// damaged beyond a torn end.
[[nodiscard]] Result<> check_store_logs(const std::string& path, const Runtime& runtime);
/// kDataLoss if there is no store at `path`. Looks for one file.
[[nodiscard]] Result<> check_exists(const std::string& path, const Runtime& runtime);

}  // namespace quiver::storage

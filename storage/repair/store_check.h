// Checks whether a store can be opened, without opening it.
#pragma once

#include <string>

#include "base/result.h"
#include "storage/rows/runtime.h"
#include "storage/rows/shard_store.h"

namespace quiver::storage {

/// Reads RocksDB's manifest of the store at `path`, verifies its checksums, and compares file sizes
/// with the synced ones. Takes a few milliseconds for a store of any size. Accepts a store whose
/// creation was interrupted by a crash, and a missing one unless `opening` is kMustExist. kDataLoss
/// if the manifest is damaged, is missing while data is there, or is not a shard store's.
[[nodiscard]] Result<> check_store(const std::string& path, const Runtime& runtime,
                                   Opening opening = Opening::kMayCreate);
/// Reads the logs of a store that is not open, as `ShardStore::open` will. kDataLoss if they are
/// damaged beyond a torn end.
[[nodiscard]] Result<> check_store_logs(const std::string& path, const Runtime& runtime);
/// kDataLoss if there is no store at `path`. Looks for one file.
[[nodiscard]] Result<> check_exists(const std::string& path, const Runtime& runtime);

}  // namespace quiver::storage

// Whether a store looks openable, without opening it.
#pragma once

#include <string>

#include "base/result.h"
#include "storage/runtime.h"

namespace quiver::storage {

/// Reads RocksDB's manifest of the store at `path` and compares its checksums: a few milliseconds,
/// whatever the store holds. Fine if there is no store or a crash interrupted its creation.
/// kDataLoss if the manifest is damaged, is missing while data is there, or is not a shard store's.
[[nodiscard]] Result<> check_store(const std::string& path, const Runtime& runtime);

}  // namespace quiver::storage

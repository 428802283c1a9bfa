// Finds damage in the manifest and the logs of a store. RocksDB would open such a store silently:
// it takes unreadable bytes for the end and drops everything after them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/logs/synced_mark.h"

namespace rocksdb {
class Env;
}

namespace quiver::storage {

/// Compares the sizes of the manifest and the log with the sizes known to be synced. Costs a few
/// system calls.
[[nodiscard]] Result<> check_sizes(rocksdb::Env& env, const std::string& store,
                                   const SyncedState& synced);

/// Reads the manifest. kDataLoss if it is damaged, or shorter or older than it was.
[[nodiscard]] Result<> check_manifest(rocksdb::Env& env, const std::string& store,
                                      const std::optional<SyncedState>& synced);

/// Names of the logs in the store's directory, oldest first.
[[nodiscard]] Result<std::vector<std::string>> log_files(rocksdb::Env& env,
                                                         const std::string& store);

[[nodiscard]] bool has_log(rocksdb::Env& env, const std::string& store, std::uint64_t number);

/// Reads the manifest and all logs of a store that is not open. A torn tail is accepted: it is part
/// of a write that was never acknowledged before a crash. kDataLoss names the file, the position
/// and the lost data.
[[nodiscard]] Result<> check_logs(rocksdb::Env& env, const std::string& store,
                                  const std::optional<SyncedState>& synced);

}  // namespace quiver::storage

// Reads a file in RocksDB's log format (its logs and manifests). RocksDB's own reader treats damage
// in the middle of a log as its end.
//
// Blocks of 32 KiB hold fragments: masked CRC-32C u32, length u16, type u8 (1 whole record, 2
// first, 3 middle, 4 last), bytes. The end of a block that is too short for a fragment's head is
// padding.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocksdb {
class Env;
}

namespace quiver::storage {

struct LogScan {
  /// End of the sound beginning of the file, which holds only whole records.
  std::uint64_t sound_bytes = 0;
  /// First byte that is neither record nor padding; nullopt if there is none. A record whose end is
  /// missing counts as damage.
  std::optional<std::uint64_t> damaged_at;
  /// Records that begin after the damage. Each was written after the damaged bytes were synced.
  std::uint64_t n_behind = 0;
};

/// Called for each whole record. `behind_damage` is true for records after `damaged_at`. The view
/// is valid during the call.
using LogVisitor = std::function<void(std::string_view record, bool behind_damage)>;

/// Reads all of `path`, about 5 GB/s from the page cache. kNotFound if the file does not exist.
[[nodiscard]] Result<LogScan> scan_log(rocksdb::Env& env, const std::string& path,
                                       const LogVisitor& visit);

}  // namespace quiver::storage

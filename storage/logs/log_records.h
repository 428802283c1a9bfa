// Reads a file in RocksDB's log format (its logs and manifests) without RocksDB, which takes damage
// in the middle of a log for the end of it.
//
// Blocks of 32 KiB hold fragments: masked CRC-32C u32, length u16, type u8 (1 whole record, 2
// first, 3 middle, 4 last), bytes. A block's last bytes, too few for a head, are padding.
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
  /// Where the sound beginning of the file ends: only whole records before, one after the other.
  std::uint64_t sound_bytes = 0;
  /// First byte of what is neither record nor padding; nullopt: nothing is wrong. A record whose
  /// end is missing counts, too.
  std::optional<std::uint64_t> damaged_at;
  /// Records that begin behind the damage. Each was written after what is damaged was synced.
  std::uint64_t n_behind = 0;
};

/// Called for each whole record; `behind_damage` for those behind `damaged_at`. The view is valid
/// during the call.
using LogVisitor = std::function<void(std::string_view record, bool behind_damage)>;

/// Reads all of `path`, about 5 GB/s from the page cache. kNotFound if there is no such file.
[[nodiscard]] Result<LogScan> scan_log(rocksdb::Env& env, const std::string& path,
                                       const LogVisitor& visit);

}  // namespace quiver::storage

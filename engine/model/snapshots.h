// What is asked and answered about snapshots: copies of a shard, a collection or everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace quiver::engine {

/// What a snapshot holds.
struct SnapshotScope {
  std::string collection;              ///< name or alias; empty: all collections, and aliases
  std::optional<std::uint32_t> shard;  ///< nullopt: all shards
};

struct SnapshotDescription {
  std::string name;               ///< "<collection>-<peer>-<date>.snapshot"
  std::int64_t created_at_s = 0;  ///< since the epoch
  std::uint64_t size_bytes = 0;   ///< of the archive that a download gives
  std::string checksum;           ///< SHA-256 of the archive, 64 hex digits; empty: not known yet
};

/// Which side wins when a snapshot is recovered. One server has no other side: all mean the same.
enum class SnapshotPriority : std::uint8_t { kReplica, kSnapshot, kNoSync };

}  // namespace quiver::engine

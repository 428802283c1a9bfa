// What a snapshot holds: docs/formats/snapshot.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/model/alias.h"

namespace quiver::engine {

enum class SnapshotKind : std::uint8_t { kCollection, kShard, kStorage };

struct SnapshotShard {
  std::uint32_t number = 0;
  Seq seq{};  ///< the last change in the snapshot
};

struct SnapshotCollection {
  std::string name;
  std::string prefix;  ///< of its files: "" or "collections/3/"
  std::string config;  ///< JSON, as the catalog keeps it
  std::vector<SnapshotShard> shards;
};

struct SnapshotFile {
  std::string path;
  std::uint64_t size_bytes = 0;
  /// XXH3; nullopt: not computed yet. A complete snapshot has all of them.
  std::optional<std::uint64_t> checksum;
};

struct SnapshotManifest {
  SnapshotKind kind = SnapshotKind::kCollection;
  std::int64_t created_at_s = 0;  ///< since the epoch
  std::vector<SnapshotCollection> collections;
  std::vector<Alias> aliases;       ///< kStorage only
  std::vector<SnapshotFile> files;  ///< by path

  [[nodiscard]] bool is_complete() const;
};

[[nodiscard]] std::string_view to_string(SnapshotKind kind);
/// The text is as long with checksums as without them.
[[nodiscard]] std::string encode_snapshot_manifest(const SnapshotManifest& manifest);
/// kInvalidArgument names what is missing; kUnimplemented for another version.
[[nodiscard]] Result<SnapshotManifest> decode_snapshot_manifest(std::string_view text);

}  // namespace quiver::engine

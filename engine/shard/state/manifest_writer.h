// Records a shard's segments in its store: docs/formats/shard-store.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/segment/segment.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"

namespace quiver::engine {

/// How the manifest differs from the segments in the table.
struct ManifestChange {
  std::span<const Segment> replaced = {};       ///< inputs of a finished job: left out
  const SegmentState* output = nullptr;         ///< its segment: added
  std::span<const std::uint64_t> rebuilt = {};  ///< formerly damaged: their deletes are dropped
};

/// Lane only. One synced batch holds the manifest, the deletes of its segments and the trimming of
/// the log, so that after a crash they fit each other.
class ManifestWriter {
 public:
  ManifestWriter(ShardCommon& common, SegmentTable& table) : common_(common), table_(table) {}

  Result<> save(const ManifestChange& change = {});
  /// True if deletes of a sealed segment are not stored yet.
  [[nodiscard]] bool has_unsaved_deletes() const;
  /// The next manifest replaces the fact under `key`, which is deleted in the same batch. `key`
  /// outlives this.
  void supersede(std::string_view key) { superseded_ = key; }
  /// Removes a segment's directory. After a failure `remove_leftovers` tries again.
  void remove_directory(std::uint64_t segment);
  void remove_leftovers();
  [[nodiscard]] bool has_leftovers() const { return !leftovers_.empty(); }

 private:
  ShardCommon& common_;
  SegmentTable& table_;
  std::optional<std::string_view> superseded_;
  std::vector<std::uint64_t> leftovers_;  ///< segments whose directories are still there
};

}  // namespace quiver::engine

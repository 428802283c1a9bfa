// Work that a shard does besides reads and updates, by kind.
#pragma once

#include <cstdint>
#include <string_view>

namespace quiver::engine {

/// Background jobs, reported ones first, then chores of the apply lane that may fail.
enum class JobKind : std::uint8_t {
  kSeal,             ///< the mutable segment becomes a sealed one
  kMerge,            ///< several sealed segments become one
  kVacuum,           ///< a sealed segment is rewritten without deleted rows and dropped fields
  kIndex,            ///< vector indexes of a sealed segment are built
  kCompactStore,     ///< the store gives back the space of deleted rows
  kPayloadIndexes,   ///< columns of payload indexes are built
  kMeasureDrift,     ///< recall of indexes is measured on recorded queries
  kPlaceFiles,       ///< files are pinned in memory, or dropped from it
  kStartJobs,        ///< a due job is started
  kHousekeeping,     ///< idle segments are sealed, leftovers removed
  kWriteStore,       ///< a store that refused writes is repaired
  kSaveDeletes,      ///< deleted rows of sealed segments are saved
  kSaveManifest,     ///< the manifest is saved without segments that were rebuilt
  kChangeConfig,     ///< a changed configuration is put in force
  kReadLostSegment,  ///< rows of a damaged segment are read from the store
};

/// The name in reports, error texts and the log. Clients see the first four.
[[nodiscard]] constexpr std::string_view to_string(JobKind kind) {
  switch (kind) {
    case JobKind::kSeal:
      return "seal";
    case JobKind::kMerge:
      return "merge";
    case JobKind::kVacuum:
      return "vacuum";
    case JobKind::kIndex:
      return "index";
    case JobKind::kCompactStore:
      return "compacting the store";
    case JobKind::kPayloadIndexes:
      return "payload indexes";
    case JobKind::kMeasureDrift:
      return "measuring drift";
    case JobKind::kPlaceFiles:
      return "placing files in memory";
    case JobKind::kStartJobs:
      return "starting a job";
    case JobKind::kHousekeeping:
      return "housekeeping";
    case JobKind::kWriteStore:
      return "writing to the store";
    case JobKind::kSaveDeletes:
      return "saving deletes";
    case JobKind::kSaveManifest:
      return "saving the manifest";
    case JobKind::kChangeConfig:
      return "changing the configuration";
    case JobKind::kReadLostSegment:
      return "reading a damaged segment again";
  }
  return "";
}

}  // namespace quiver::engine

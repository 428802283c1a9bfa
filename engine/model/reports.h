// What a collection, its shards, segments, indexes and background work say about themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/model/config.h"
#include "engine/model/job_kind.h"
#include "index/index.h"
#include "payload/schema.h"

namespace quiver::engine {

enum class Health : std::uint8_t { kGreen, kYellow, kGrey, kRed };

struct IndexInfo {
  payload::FieldIndex index;
  std::uint64_t n_points = 0;  ///< live points with a value under the key
};

/// What the vectors of a field are searched with.
struct VectorIndexInfo {
  std::string field;
  std::string index;  ///< the type and what it was built with: `ivf-bits=4`; flat: exactly
  std::uint64_t n_vectors = 0;  ///< of segments with such an index; deleted ones among them
  std::uint64_t n_bytes = 0;    ///< of its files
};

/// What the vectors of one field of one segment are searched with.
struct SegmentIndexInfo {
  std::uint32_t shard = 0;
  std::uint64_t segment = 0;  ///< its number in the shard
  bool sealed = false;
  std::string field;
  std::string index;  ///< as of VectorIndexInfo
  std::uint64_t n_vectors = 0;
  std::uint64_t n_bytes = 0;
  index::Description description;
};

struct CollectionInfo {
  Health health = Health::kGreen;
  std::string optimizer_error;  ///< empty: "ok"
  std::uint64_t n_points = 0;
  std::uint64_t n_indexed_vectors = 0;
  std::uint64_t n_segments = 0;
  std::uint64_t n_queued_updates = 0;
  double opening_s = 0;  ///< how long the collection took to open
  /// Segments whose files were found damaged and whose rows were taken from the store instead;
  /// they are searched without an index until they are sealed again.
  std::uint64_t n_damaged_segments = 0;
  /// Segments with an index that was found damaged; until it is built again they are searched
  /// exactly.
  std::uint64_t n_damaged_indexes = 0;
  /// Of all searches since the collection was opened.
  index::WorkCounters search_work;
  CollectionConfig config;
  std::vector<IndexInfo> indexes;
  std::vector<VectorIndexInfo> vector_indexes;  ///< by field and index, ascending
};

/// A segment that background work is about.
struct WorkSegment {
  std::uint32_t shard = 0;
  std::uint64_t id = 0;  ///< in its shard
  std::uint64_t n_points = 0;
};

/// Background work that waits for its turn.
struct QueuedOptimization {
  JobKind kind = JobKind::kSeal;
  WorkSegment segment;
};

/// One piece of background work, running or done.
struct OptimizationState {
  std::uint32_t shard = 0;
  std::uint64_t id = 0;              ///< in its shard
  JobKind kind = JobKind::kSeal;     ///< a seal, merge, vacuum or index
  std::optional<std::string> error;  ///< why it failed
  std::vector<WorkSegment> segments;
  std::uint64_t done = 0, total = 0;  ///< rows
  double started_at = 0;              ///< seconds since the epoch
  std::optional<double> finished_at;
  std::optional<double> eta_s;
};

struct OptimizationReport {
  std::vector<QueuedOptimization> queued;
  std::vector<WorkSegment> idle;  ///< as they should be, the growing one among them
  std::vector<OptimizationState> running;
  std::vector<OptimizationState> completed;  ///< newest first, bounded
};

/// All background work of a shard since it was opened.
struct WorkSummary {
  std::uint64_t n_done = 0;    ///< well
  std::uint64_t n_failed = 0;  ///< the numbers below leave them out
  std::uint64_t n_rows = 0;
  double total_s = 0, min_s = 0, max_s = 0;
  double last_at = 0;  ///< seconds since the epoch
};

/// A field of a segment.
struct SegmentFieldInfo {
  std::string field;
  std::uint64_t n_vectors = 0;          ///< of live points
  std::uint64_t n_deleted_vectors = 0;  ///< of others
  std::uint64_t n_bytes = 0;            ///< of the vectors
  std::string index;                    ///< as of VectorIndexInfo
  std::uint64_t n_index_bytes = 0;      ///< of its files
  std::uint64_t n_heap_bytes = 0;       ///< that its searches keep in memory
  bool is_exact = true;                 ///< searched row by row
  bool is_indexed = false;              ///< searched as it should be, be it row by row
};

/// The payload index of a segment.
struct SegmentColumnInfo {
  payload::FieldIndex index;
  std::uint64_t n_points = 0;  ///< live ones with a value
  std::uint64_t n_values = 0;  ///< of all rows
};

/// A segment as it is now.
struct SegmentInfo {
  std::uint64_t id = 0;  ///< in its shard
  bool sealed = false;   ///< its columns are in files, else in memory
  std::uint64_t n_points = 0;
  std::uint64_t n_payload_bytes = 0;
  std::vector<SegmentFieldInfo> fields;    ///< as in the configuration
  std::vector<SegmentColumnInfo> columns;  ///< by key
};

struct ShardInfo {
  Health health = Health::kGreen;
  std::string optimizer_error;  ///< empty: "ok"
  std::uint64_t n_queued_updates = 0;
  Seq last_seq{};  ///< of the changes that are visible
  WorkSummary work;
  std::vector<SegmentInfo> segments;
};

enum class Ack : std::uint8_t {
  kDurable,  ///< answer once synced to disk
  kVisible,  ///< answer once every later read sees it
};

}  // namespace quiver::engine

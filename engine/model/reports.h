// Reports on a collection, its shards, segments, indexes and background work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/model/config.h"
#include "engine/model/job_kind.h"
#include "engine/model/shard_key.h"
#include "index/index.h"
#include "payload/attribute/attribute.h"
#include "payload/schema.h"

namespace quiver::engine {

enum class Health : std::uint8_t { kGreen, kYellow, kGrey, kRed };

struct IndexInfo {
  payload::FieldIndex index;
  std::uint64_t n_points = 0;  ///< live points with a value under the key
};

/// A vector index of a field, summed over the segments that have it.
struct VectorIndexInfo {
  std::string field;
  std::string index;  ///< type and build parameters, as in `ivf-bits=4`; flat: exact search
  std::uint64_t n_vectors = 0;  ///< vectors in segments with this index, deleted ones included
  std::uint64_t n_bytes = 0;    ///< size of its files
};

/// The vector index of one field of one segment.
struct SegmentIndexInfo {
  std::uint32_t shard = 0;
  std::uint64_t segment = 0;  ///< its number in the shard
  bool sealed = false;
  std::string field;
  std::string index;  ///< as `VectorIndexInfo::index`
  std::uint64_t n_vectors = 0;
  std::uint64_t n_bytes = 0;
  index::Description description;
};

/// What a sealed segment knows of one payload path without a declared index.
struct AttributeInfo {
  std::string path;
  std::uint64_t n_entries = 0;  ///< values, or ranges of values
  bool is_exact = false;        ///< each entry is one value
  std::uint64_t n_bytes = 0;
};
struct SegmentAttributesInfo {
  std::uint32_t shard = 0;
  std::uint64_t segment = 0;  ///< its number in the shard
  std::vector<AttributeInfo> paths;
  std::vector<payload::LeftOutPath> left_out;
};

struct CollectionInfo {
  Health health = Health::kGreen;
  std::string optimizer_error;  ///< empty: "ok"
  std::uint64_t n_points = 0;
  std::uint64_t n_indexed_vectors = 0;
  std::uint64_t n_segments = 0;
  std::uint64_t n_queued_updates = 0;
  double opening_s = 0;  ///< time that opening the collection took
  /// Segments with damaged files, whose rows were read from the store instead; they are searched
  /// without an index until they are sealed again.
  std::uint64_t n_damaged_segments = 0;
  /// Segments with a damaged index; they are searched exactly until it is rebuilt.
  std::uint64_t n_damaged_indexes = 0;
  std::string memory_warning;  ///< why files are not pinned as asked; empty if all are
  /// Work of all searches since the collection was opened.
  index::WorkCounters search_work;
  CollectionConfig config;
  std::vector<IndexInfo> indexes;
  std::vector<VectorIndexInfo> vector_indexes;  ///< by field and index, ascending
};

/// A segment that background work reads.
struct WorkSegment {
  std::uint32_t shard = 0;
  std::uint64_t id = 0;  ///< in its shard
  std::uint64_t n_points = 0;
};

/// A background job that waits for its turn.
struct QueuedOptimization {
  JobKind kind = JobKind::kSeal;
  WorkSegment segment;
};

/// A background job, running or done.
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
  std::vector<WorkSegment> idle;  ///< segments without work to do, the mutable one included
  std::vector<OptimizationState> running;
  std::vector<OptimizationState> completed;  ///< newest first, bounded
};

/// All background jobs of a shard since it was opened.
struct WorkSummary {
  std::uint64_t n_done = 0;    ///< jobs that succeeded
  std::uint64_t n_failed = 0;  ///< left out of the numbers below
  std::uint64_t n_rows = 0;
  double total_s = 0, min_s = 0, max_s = 0;
  double last_at = 0;  ///< seconds since the epoch
};

/// A field of a segment.
struct SegmentFieldInfo {
  std::string field;
  std::uint64_t n_vectors = 0;          ///< vectors of live points
  std::uint64_t n_deleted_vectors = 0;  ///< vectors of deleted points
  std::uint64_t n_bytes = 0;            ///< size of the vectors
  std::string index;                    ///< as `VectorIndexInfo::index`
  std::uint64_t n_index_bytes = 0;      ///< size of the index files
  std::uint64_t n_heap_bytes = 0;       ///< memory of the searcher besides files
  bool is_exact = true;                 ///< searched row by row
  bool is_indexed = false;              ///< no index is missing
};

/// The payload index of a segment.
struct SegmentColumnInfo {
  payload::FieldIndex index;
  std::uint64_t n_points = 0;  ///< live points with a value
  std::uint64_t n_values = 0;  ///< values of all rows
};

/// The present state of a segment.
struct SegmentInfo {
  std::uint64_t id = 0;  ///< in its shard
  bool sealed = false;   ///< its columns are in files, else in memory
  std::uint64_t n_points = 0;
  std::uint64_t n_payload_bytes = 0;
  std::vector<SegmentFieldInfo> fields;    ///< fields in the order of the configuration
  std::vector<SegmentColumnInfo> columns;  ///< by key
};

struct ShardInfo {
  Health health = Health::kGreen;
  std::string optimizer_error;  ///< empty: "ok"
  std::uint64_t n_queued_updates = 0;
  Seq last_seq{};  ///< the last visible change
  WorkSummary work;
  std::vector<SegmentInfo> segments;
  std::uint32_t number = 0;
  std::optional<ShardKey> key = std::nullopt;
};

enum class Ack : std::uint8_t {
  kDurable,  ///< answer once synced to disk
  kVisible,  ///< answer once every later read sees it
};

}  // namespace quiver::engine

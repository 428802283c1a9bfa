// A collection: schema and shards. The only thing a transport talks to, besides Database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/executor.h"
#include "base/published.h"
#include "base/result.h"
#include "engine/bulk.h"
#include "engine/config.h"
#include "engine/operation.h"
#include "engine/query.h"
#include "index/index.h"

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
  std::string name;  ///< as `OptimizationState::name`
  WorkSegment segment;
};

/// One piece of background work, running or done.
struct OptimizationState {
  std::uint32_t shard = 0;
  std::uint64_t id = 0;              ///< in its shard
  std::string name;                  ///< "seal", "merge", "vacuum", "index"
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

class Collection {
 public:
  virtual ~Collection() = default;

  [[nodiscard]] virtual std::shared_ptr<const CollectionConfig> config() const = 0;
  [[nodiscard]] virtual CollectionInfo info() const = 0;
  [[nodiscard]] virtual OptimizationReport optimizations() const = 0;
  /// By shard, segment and field.
  [[nodiscard]] virtual std::vector<SegmentIndexInfo> segment_indexes() const { return {}; }
  /// Takes time in proportion to the rows that are deleted or have values of payload indexes.
  [[nodiscard]] virtual std::vector<ShardInfo> shards() const { return {}; }

  /// Checks everything first (an error is returned at once and nothing is applied), then queues
  /// the operations as one; `done` is called once, from another thread, with one result for each.
  /// A full queue is kResourceExhausted at once.
  virtual Result<> update(std::vector<Operation> operations, Ack ack,
                          std::function<void(Result<std::vector<UpdateResult>>)> done) = 0;

  /// Upserts a large chunk by the fast path of an import. Returns when it is durable and visible,
  /// whole and together with its cursor; a crash at any moment leaves both or neither. Checks
  /// everything first: kInvalidArgument names the point, and nothing is applied. After kUnavailable
  /// or kResourceExhausted (a failing or full disk) `bulk_cursor` tells whether the chunk is in;
  /// what is left to do is done when the disk works again. One call at a time, others wait; updates
  /// of the same collection wait meanwhile.
  virtual Result<> bulk_load(const BulkChunk& chunk) {
    (void)chunk;
    return fail(Code::kUnimplemented, "this collection takes no bulk loads");
  }
  /// The cursor of the last chunk that had one, "" if none had.
  [[nodiscard]] virtual Result<std::string> bulk_cursor() const { return std::string(); }

  /// Reads run on the calling thread, large ones helped by the compute executor.
  [[nodiscard]] virtual Result<std::vector<Record>> query(const Query& query,
                                                          const Cancel& cancel) const = 0;
  /// An answer for each query, all of one snapshot; an error of one is that of all.
  [[nodiscard]] virtual Result<std::vector<std::vector<Record>>> query_batch(
      std::span<const Query> queries, const Cancel& cancel) const = 0;
  /// Points in the order asked for; unknown ids are left out.
  [[nodiscard]] virtual Result<std::vector<Record>> retrieve(
      const RetrieveRequest& request) const = 0;
  /// Token by token; points that are unknown or lack the vector are left out.
  [[nodiscard]] virtual Result<std::vector<Explanation>> explain(const ExplainRequest& request,
                                                                 const Cancel& cancel) const {
    (void)request, (void)cancel;
    return fail(Code::kUnimplemented, "this collection explains no scores");
  }
  [[nodiscard]] virtual Result<ScrollPage> scroll(const ScrollRequest& request,
                                                  const Cancel& cancel) const = 0;
  [[nodiscard]] virtual Result<std::uint64_t> count(const std::optional<payload::Filter>& filter,
                                                    const Cancel& cancel) const = 0;
  /// True if the query reads vectors without an index above all, so that one pass over them could
  /// answer others that `are_searched_alike`, too.
  [[nodiscard]] virtual bool shares_passes(const Query& query) const {
    (void)query;
    return false;
  }
  /// True if the query touches so little that a hop to another thread would cost more.
  [[nodiscard]] virtual bool is_small(const Query& query) const = 0;

  /// Replaces an index on the same key. It is kept from the return on; kVisible: it answers for
  /// every segment, too.
  virtual Result<> create_index(const payload::FieldIndex& index, Ack ack) = 0;
  /// False if there was none.
  virtual Result<bool> drop_index(const std::string& key) = 0;
};

}  // namespace quiver::engine

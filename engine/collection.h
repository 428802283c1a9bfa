// A collection: schema and shards. The only thing a transport talks to, besides Database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "base/threads/published.h"
#include "engine/model/aggregates.h"
#include "engine/model/bulk.h"
#include "engine/model/config.h"
#include "engine/model/facets.h"
#include "engine/model/found.h"
#include "engine/model/fusion_learning.h"
#include "engine/model/groups.h"
#include "engine/model/matrix.h"
#include "engine/model/operation.h"
#include "engine/model/planned_query.h"
#include "engine/model/proposals.h"
#include "engine/model/query.h"
#include "engine/model/replication.h"
#include "engine/model/reports.h"
#include "engine/query/query_source.h"

namespace quiver::engine {

class Jobs;
class PrivateSums;

/// When an update is answered, and how long it may wait.
struct UpdateTerms {
  UpdateTerms(Ack when_answered)  // NOLINT(google-explicit-constructor): most have no deadline
      : ack(when_answered) {}
  UpdateTerms(Ack when_answered, Deadline caller_deadline)
      : ack(when_answered), deadline(caller_deadline) {}

  Ack ack;
  /// When the caller gives up. An update that still waits in a queue then, or would, is refused
  /// with kResourceExhausted and nothing of it is stored in that shard. One that has begun is
  /// answered as soon as `ack` is true of it.
  Deadline deadline = Deadline::none();
};

class Collection : public QuerySource {
 public:
  [[nodiscard]] virtual std::shared_ptr<const CollectionConfig> config() const = 0;
  [[nodiscard]] virtual CollectionInfo info() const = 0;
  [[nodiscard]] virtual OptimizationReport optimizations() const = 0;
  /// Ordered by shard, segment and field.
  [[nodiscard]] virtual std::vector<SegmentIndexInfo> segment_indexes() const { return {}; }
  /// What sealed segments know of payload paths.
  [[nodiscard]] virtual std::vector<SegmentAttributesInfo> segment_attributes() const { return {}; }
  /// Time: proportional to the rows that are deleted or have values of payload indexes.
  [[nodiscard]] virtual std::vector<ShardInfo> shards() const { return {}; }

  /// Checks everything first (an error is returned at once and nothing is applied), then queues
  /// the operations as one; `done` is called once, from another thread, with one result for each.
  /// A full queue is kResourceExhausted at once, and so is one in which an update waits already for
  /// longer than the deadline allows.
  virtual Result<> update(std::vector<Operation> operations, const UpdateTerms& terms,
                          std::function<void(Result<std::vector<UpdateResult>>)> done) = 0;

  /// Upserts a large chunk by the fast path of an import. Returns when the whole chunk and its
  /// cursor are durable and visible; a crash at any moment leaves both or neither. Checks
  /// everything first: kInvalidArgument names the point, and nothing is applied. After kUnavailable
  /// or kResourceExhausted (a failing or full disk) `bulk_cursor` tells whether the chunk is in;
  /// the rest of the work is done when the disk works again. One call runs at a time, others wait,
  /// and so do updates of the collection.
  virtual Result<> bulk_load(const BulkChunk& chunk) {
    (void)chunk;
    return fail(Code::kUnimplemented, "this collection takes no bulk loads");
  }
  /// The cursor of the last chunk that had one, "" if none had.
  [[nodiscard]] virtual Result<std::string> bulk_cursor() const { return std::string(); }

  /// Takes the snapshot that answers `query` and estimates its cost; microseconds, nothing is read.
  /// The planned query keeps this collection alive.
  [[nodiscard]] virtual std::shared_ptr<const PlannedQuery> plan(Query query) const = 0;
  /// Plans and runs. Reads run on the calling thread, large ones helped by the compute executor.
  [[nodiscard]] virtual Result<std::vector<Record>> query(const Query& query,
                                                          const Cancel& cancel) const = 0;
  /// An answer for each query, all from one snapshot. If one query fails, all fail.
  [[nodiscard]] Result<std::vector<std::vector<Record>>> query_batch(
      std::span<const Query> queries, const Cancel& cancel) const override = 0;
  /// The rows that a query without prefetches and MMR finds, to be ranked with those of other
  /// collections. `search.offset` has no effect.
  [[nodiscard]] virtual Result<FoundPoints> find(const Query& search, RowParts wanted,
                                                 const Cancel& cancel) const {
    (void)search, (void)wanted, (void)cancel;
    return fail(Code::kUnimplemented, "this collection gives no rows");
  }
  /// How rare the terms of a query without prefetches are, which scores by words or by sparse
  /// vectors with IDF.
  [[nodiscard]] virtual Result<CorpusCounts> count_terms(const Query& query,
                                                         const Cancel& cancel) const {
    (void)query, (void)cancel;
    return fail(Code::kUnimplemented, "this collection counts no terms");
  }
  /// Points in the order asked for; unknown ids are left out.
  [[nodiscard]] virtual Result<std::vector<Record>> retrieve(
      const RetrieveRequest& request) const = 0;
  /// Explains scores token by token. Points that are unknown or lack the vector are left out.
  [[nodiscard]] virtual Result<std::vector<Explanation>> explain(const ExplainRequest& request,
                                                                 const Cancel& cancel) const {
    (void)request, (void)cancel;
    return fail(Code::kUnimplemented, "this collection explains no scores");
  }
  [[nodiscard]] virtual Result<ScrollPage> scroll(const ScrollRequest& request,
                                                  const Cancel& cancel) const = 0;
  [[nodiscard]] virtual Result<std::uint64_t> count(const CountRequest& request,
                                                    const Cancel& cancel) const = 0;

  /// Each search for a group reads the same snapshot. `with_lookup` has no effect: the verb of
  /// service/api reads the other collection.
  [[nodiscard]] virtual Result<std::vector<PointGroup>> groups(const GroupsQuery& query,
                                                               const Cancel& cancel) const {
    (void)query, (void)cancel;
    return fail(Code::kUnimplemented, "this collection makes no groups");
  }
  /// Values by count, descending, then by value. kInvalidArgument without an index that counts
  /// them; kUnavailable while it is being built.
  [[nodiscard]] virtual Result<std::vector<FacetHit>> facet(const FacetRequest& request,
                                                            const Cancel& cancel) const {
    (void)request, (void)cancel;
    return fail(Code::kUnimplemented, "this collection counts no values");
  }
  /// One aggregate for each aggregation, in their order. Exact; indexes do not change the outcome.
  /// kInvalidArgument for a malformed key, or more buckets than an answer may have.
  [[nodiscard]] virtual Result<std::vector<Aggregate>> aggregate(const AggregateRequest& request,
                                                                 const Cancel& cancel) const {
    (void)request, (void)cancel;
    return fail(Code::kUnimplemented, "this collection makes no aggregates");
  }
  [[nodiscard]] virtual Result<DistanceMatrix> distance_matrix(const MatrixRequest& request,
                                                               const Cancel& cancel) const {
    (void)request, (void)cancel;
    return fail(Code::kUnimplemented, "this collection compares no samples");
  }

  /// Weights for fusing the prefetches of such queries. kInvalidArgument and the like as of
  /// `query`.
  [[nodiscard]] virtual Result<LearnedFusion> learn_fusion(const FusionLearning& learning,
                                                           const Cancel& cancel) const {
    (void)learning, (void)cancel;
    return fail(Code::kUnimplemented, "this collection learns no weights");
  }

  /// The points that the caller should score next, from one snapshot. The same request gives the
  /// same answer. kInvalidArgument and the like as of `query`, and if the basis is no dense field.
  [[nodiscard]] virtual Result<Proposals> propose(const ProposalRequest& request,
                                                  const Cancel& cancel) const {
    (void)request, (void)cancel;
    return fail(Code::kUnimplemented, "this collection proposes no points");
  }

  /// Measures the recall of a field's searches by effort. Takes seconds; stores nothing.
  /// kFailedPrecondition with too few queries, recorded ones or stored vectors.
  [[nodiscard]] virtual Result<RecallTable> measure_recall(const RecallRequest& request,
                                                           const Cancel& cancel) const {
    (void)request, (void)cancel;
    return fail(Code::kUnimplemented, "this collection measures no recall");
  }

  /// How well the fields keep the recall that is asked of them; those with a table or such
  /// requests.
  [[nodiscard]] virtual std::vector<RecallStatus> recall_statuses() const { return {}; }

  /// True: it asks other machines, so its functions wait rather than compute.
  [[nodiscard]] virtual bool waits() const { return false; }

  /// Its background jobs, which live as long as it; nullptr: it runs none.
  [[nodiscard]] virtual Jobs* jobs() { return nullptr; }
  /// Its private sums, which live as long as it; nullptr: it makes none.
  [[nodiscard]] virtual PrivateSums* private_sums() { return nullptr; }

  /// Puts the configuration that the cluster has committed in force. Durable on return.
  /// `is_current` is asked while no other change runs; false: nothing is done.
  virtual Result<> adopt_config(const CollectionConfig& config,
                                const std::function<Result<bool>()>& is_current) {
    (void)config, (void)is_current;
    return fail(Code::kUnimplemented, "this collection is on this node only");
  }
  /// For the cluster; holds the collection open. kNotFound if there is no such shard, or it is on
  /// this node only.
  [[nodiscard]] virtual Result<std::shared_ptr<Replica>> replica(std::uint32_t shard) {
    return fail(Code::kNotFound, "shard " + std::to_string(shard) + " is on this node only");
  }

  /// Replaces an index on the same key. On return the index is durable; with kVisible every segment
  /// uses it, too.
  virtual Result<> create_index(const payload::FieldIndex& index, Ack ack) = 0;
  /// False if there was none.
  virtual Result<bool> drop_index(const std::string& key) = 0;

  /// Durable on return. kFailedPrecondition as of `add_shard_key`.
  virtual Result<> create_shard_key(const ShardKeyCreation& creation) {
    return fail(Code::kUnimplemented, "shard key " + to_string(creation.key));
  }
  /// Deletes the key with all its points; durable on return. kFailedPrecondition if there is none.
  virtual Result<> drop_shard_key(const ShardKey& key) {
    return fail(Code::kUnimplemented, "shard key " + to_string(key));
  }
};

}  // namespace quiver::engine

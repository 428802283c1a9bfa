// A collection over its shards.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/threads/published.h"
#include "engine/backup/manifest.h"
#include "engine/collection.h"
#include "engine/collections/collection_bulk.h"
#include "engine/collections/collection_reports.h"
#include "engine/collections/expiry.h"
#include "engine/collections/work_totals.h"
#include "engine/segment/snapshot.h"
#include "engine/shard/shard.h"
#include "engine/shard/shard_context.h"
#include "engine/write/update_parts.h"
#include "engine/write/update_turns.h"
#include "engine/write/write_gate.h"

namespace quiver::engine {

class Plan;

class CollectionImpl final : public Collection,
                             public std::enable_shared_from_this<CollectionImpl> {
 public:
  /// Makes a changed configuration durable before it is put in force.
  using SaveConfig = std::function<Result<>(const CollectionConfig&)>;

  /// Opens the shards below `path`, and may create them. kDataLoss if one must exist and is gone.
  static Result<std::shared_ptr<CollectionImpl>> open(
      const std::string& path, std::shared_ptr<const CollectionConfig> config,
      const ShardContext& context, storage::Opening opening, Executor& compute,
      SaveConfig save_config);

  [[nodiscard]] std::shared_ptr<const CollectionConfig> config() const override {
    return config_.load();
  }
  [[nodiscard]] CollectionInfo info() const override;
  [[nodiscard]] OptimizationReport optimizations() const override;
  [[nodiscard]] std::vector<SegmentIndexInfo> segment_indexes() const override;
  [[nodiscard]] std::vector<ShardInfo> shards() const override;
  Result<> update(std::vector<Operation> operations, Ack ack,
                  std::function<void(Result<std::vector<UpdateResult>>)> done) override;
  Result<> bulk_load(const BulkChunk& chunk) override;
  [[nodiscard]] Result<std::string> bulk_cursor() const override;
  [[nodiscard]] std::shared_ptr<const PlannedQuery> plan(Query query) const override;
  [[nodiscard]] Result<std::vector<Record>> query(const Query& query,
                                                  const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<std::vector<Record>>> query_batch(
      std::span<const Query> queries, const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<Record>> retrieve(const RetrieveRequest& request) const override;
  [[nodiscard]] Result<std::vector<Explanation>> explain(const ExplainRequest& request,
                                                         const Cancel& cancel) const override;
  [[nodiscard]] Result<ScrollPage> scroll(const ScrollRequest& request,
                                          const Cancel& cancel) const override;
  [[nodiscard]] Result<std::uint64_t> count(const std::optional<payload::Filter>& filter,
                                            const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<PointGroup>> groups(const GroupsQuery& query,
                                                       const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<FacetHit>> facet(const FacetRequest& request,
                                                    const Cancel& cancel) const override;
  [[nodiscard]] Result<DistanceMatrix> distance_matrix(const MatrixRequest& request,
                                                       const Cancel& cancel) const override;
  Result<> create_index(const payload::FieldIndex& index, Ack ack) override;
  Result<bool> drop_index(const std::string& key) override;

  /// Changes the configuration: durable on return; kVisible: in force in every shard, too.
  Result<> change_config(const std::function<Result<>(CollectionConfig&)>& change,
                         Ack ack = Ack::kVisible);
  /// Links the files of all shards, or of shard `only`, below `target`: one directory each, as in
  /// the collection's own. Waits for the end of a running bulk load.
  Result<std::vector<SnapshotShard>> link_files(const std::string& target,
                                                std::optional<std::uint32_t> only);
  void tick();
  /// Updates are taken while all shards' rows are in their place; an error says which are not.
  Result<> check_place();
  /// Applies what is queued and closes the shards; reads of earlier snapshots go on.
  Result<> close();

 private:
  /// `context`: with the recorded queries of this collection.
  CollectionImpl(std::shared_ptr<const CollectionConfig> config, ShardContext context,
                 Executor& compute, SaveConfig save_config)
      : config_(std::move(config)),
        context_(std::move(context)),
        compute_(compute),
        save_config_(std::move(save_config)) {}

  /// What an update is answered by.
  struct Request {
    std::size_t n_operations = 0;
    Ack ack = Ack::kVisible;
  };
  /// `ack`: when `done` is called.
  Result<> submit(std::vector<UpdatePart> parts, const Request& request, Ack ack,
                  UpdateJoin::Done done);
  /// For a collection that limits its tenants.
  Result<> take_turn(std::vector<PreparedOperation> operations, const Request& request,
                     UpdateJoin::Done done);
  Result<> wait_for_earlier_updates();
  /// An error while updates are refused.
  [[nodiscard]] Result<> check_gates() const;
  Result<> close_shards();
  class Planned;

  [[nodiscard]] Expiry::Sets segment_sets() const;
  /// Without expired points. Taken after the configuration that is used with it: then it has all
  /// its fields.
  [[nodiscard]] Snapshot snapshot(const CollectionConfig& config) const;
  void delete_expired();
  [[nodiscard]] Result<std::vector<Record>> run(
      const Plan& plan, const QueryCost& cost, const Snapshot& now,
      const std::shared_ptr<const CollectionConfig>& config, const Cancel& cancel) const;
  /// `answer`, or kUnavailable if the segments it was read from turned out to be damaged.
  template <class T>
  static Result<T> checked(const Snapshot& read, Result<T> answer);
  [[nodiscard]] IndexPolicy index_policy(
      const std::shared_ptr<const CollectionConfig>& config) const;

  /// New fields appear in it once all shards have them.
  Published<CollectionConfig> config_;
  const ShardContext context_;
  WriteGate place_;  ///< closed while the rows of a shard are not in their place
  Executor& compute_;
  const SaveConfig save_config_;
  Mutex change_mutex_;  ///< one change of configuration at a time
  Shards shards_;
  mutable WorkTotals search_work_;
  mutable Expiry expiry_;
  const std::shared_ptr<std::atomic<bool>> deleting_expired_ =
      std::make_shared<std::atomic<bool>>(false);
  double opening_s_ = 0;
  std::atomic<std::uint64_t> n_being_queued_ = 0;  ///< calls of `update` that have not returned
  UpdateTurns turns_{*context_.lanes, context_.max_queued_bytes};
  CollectionBulk bulk_{shards_, config_, *context_.background};
};

}  // namespace quiver::engine

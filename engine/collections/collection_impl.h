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
#include "engine/collections/jobs/collection_jobs.h"
#include "engine/collections/privacy/collection_sums.h"
#include "engine/collections/recall/collection_recall.h"
#include "engine/collections/sharding/shard_list.h"
#include "engine/collections/work_totals.h"
#include "engine/query/stages/environment.h"
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
  /// Who changed a configuration: a client of this node, or another node.
  enum class Origin : std::uint8_t { kHere, kCluster };
  /// Makes a configuration that was made of `base` durable before it is put in force.
  using SaveConfig =
      std::function<Result<>(const CollectionConfig& base, const CollectionConfig& config, Origin)>;

  /// Opens the shards below `path`, and may create them. kDataLoss if one must exist and is gone.
  /// `jobs`: outlives this; nullptr: there are none.
  static Result<std::shared_ptr<CollectionImpl>> open(
      const std::string& path, std::shared_ptr<const CollectionConfig> config,
      const ShardContext& context, storage::Opening opening, Executor& compute,
      SaveConfig save_config, const JobContext* jobs);

  [[nodiscard]] std::shared_ptr<const CollectionConfig> config() const override {
    return config_.load();
  }
  [[nodiscard]] CollectionInfo info() const override;
  [[nodiscard]] OptimizationReport optimizations() const override;
  [[nodiscard]] std::vector<SegmentIndexInfo> segment_indexes() const override;
  [[nodiscard]] std::vector<SegmentAttributesInfo> segment_attributes() const override;
  [[nodiscard]] std::vector<ShardInfo> shards() const override;
  Result<> update(std::vector<Operation> operations, const UpdateTerms& terms,
                  std::function<void(Result<std::vector<UpdateResult>>)> done) override;
  Result<> bulk_load(const BulkChunk& chunk) override;
  [[nodiscard]] Result<std::string> bulk_cursor() const override;
  [[nodiscard]] std::shared_ptr<const PlannedQuery> plan(Query query) const override;
  [[nodiscard]] Result<std::vector<Record>> query(const Query& query,
                                                  const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<std::vector<Record>>> query_batch(
      std::span<const Query> queries, const Cancel& cancel) const override;
  [[nodiscard]] Result<CorpusCounts> count_terms(const Query& query,
                                                 const Cancel& cancel) const override;
  [[nodiscard]] Result<FoundPoints> find(const Query& search, RowParts wanted,
                                         const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<Record>> retrieve(const RetrieveRequest& request) const override;
  [[nodiscard]] Result<std::vector<Explanation>> explain(const ExplainRequest& request,
                                                         const Cancel& cancel) const override;
  [[nodiscard]] Result<ScrollPage> scroll(const ScrollRequest& request,
                                          const Cancel& cancel) const override;
  [[nodiscard]] Result<std::uint64_t> count(const CountRequest& request,
                                            const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<PointGroup>> groups(const GroupsQuery& query,
                                                       const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<FacetHit>> facet(const FacetRequest& request,
                                                    const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<Aggregate>> aggregate(const AggregateRequest& request,
                                                         const Cancel& cancel) const override;
  [[nodiscard]] Result<DistanceMatrix> distance_matrix(const MatrixRequest& request,
                                                       const Cancel& cancel) const override;
  [[nodiscard]] Result<LearnedFusion> learn_fusion(const FusionLearning& learning,
                                                   const Cancel& cancel) const override;
  [[nodiscard]] Result<Proposals> propose(const ProposalRequest& request,
                                          const Cancel& cancel) const override;
  [[nodiscard]] Result<RecallTable> measure_recall(const RecallRequest& request,
                                                   const Cancel& cancel) const override;
  [[nodiscard]] std::vector<RecallStatus> recall_statuses() const override {
    return recall_->statuses();
  }
  [[nodiscard]] Jobs* jobs() override { return jobs_.get(); }
  [[nodiscard]] PrivateSums* private_sums() override { return private_sums_.get(); }
  Result<> create_index(const payload::FieldIndex& index, Ack ack) override;
  Result<bool> drop_index(const std::string& key) override;
  Result<> create_shard_key(const ShardKeyCreation& creation) override;
  Result<> drop_shard_key(const ShardKey& key) override;
  Result<> adopt_config(const CollectionConfig& config,
                        const std::function<Result<bool>()>& is_current) override;
  [[nodiscard]] Result<std::shared_ptr<Replica>> replica(std::uint32_t shard) override;

  /// Changes the configuration: durable on return; kVisible: in force in every shard, too.
  Result<> change_config(const std::function<Result<>(CollectionConfig&)>& change,
                         Ack ack = Ack::kVisible, Origin origin = Origin::kHere);
  struct Linked {
    std::vector<SnapshotShard> shards;
    std::shared_ptr<const CollectionConfig> config;  ///< has all fields that a row may have
  };
  /// Links the files of all shards, or of shard `only`, below `target`: one directory each, as in
  /// the collection's own. Waits for the end of a running bulk load.
  Result<Linked> link_files(const std::string& target, std::optional<std::uint32_t> only);
  void tick();
  /// True if no work runs, waits or is planned for a later time, so that nothing is lost by
  /// closing.
  [[nodiscard]] bool is_at_rest() const;
  /// Updates are taken while all shards' rows are in their place; an error says which are not.
  Result<> check_place();
  /// Applies what is queued and closes the shards; reads of earlier snapshots go on.
  /// kDeadlineExceeded if a shard is still open: then call it again.
  Result<> close();
  /// True after a `close` that ran out of time, once what it waited for has ended.
  [[nodiscard]] bool can_finish_closing();

 private:
  /// `context`: with the recorded queries of this collection.
  CollectionImpl(std::string path, std::shared_ptr<const CollectionConfig> config,
                 ShardContext context, Executor& compute, SaveConfig save_config)
      : path_(std::move(path)),
        config_(std::move(config)),
        context_(std::move(context)),
        compute_(compute),
        save_config_(std::move(save_config)) {}

  /// What an update is answered by.
  struct Request {
    std::size_t n_operations = 0;
    UpdateTerms terms;
  };
  /// `ack`: when `done` is called.
  Result<> submit(const Shards& shards, std::vector<UpdatePart> parts, const Request& request,
                  Ack ack, UpdateJoin::Done done);
  /// An update of a collection that limits its tenants.
  struct Waiting {
    std::vector<PreparedOperation> prepared;
    std::vector<Operation> operations;
  };
  Result<> take_turn(Waiting update, const Request& request, UpdateJoin::Done done);
  Result<> check_and_submit(Waiting& update, const Request& request, UpdateJoin::Done done);
  Result<> wait_for_earlier_updates();
  /// An error while updates are refused.
  [[nodiscard]] Result<> check_gates() const;
  /// For requests that change nothing, in a cluster: this node must not lack another's changes.
  [[nodiscard]] Result<> confirm_leads() const;
  [[nodiscard]] bool is_replicated() const {
    return context_.replication != nullptr && !config_.load()->cluster_id.empty();
  }
  Result<> adopt_shards(const CollectionConfig& config,
                        const std::function<Result<bool>()>& is_current);
  Result<> close_shards();
  class Planned;

  /// All shards and their segments.
  struct Moment {
    std::shared_ptr<const Shards> shards;
    Expiry::Sets sets;

    /// Errors as of `shards_to_read`.
    [[nodiscard]] Result<Snapshot> select(const ShardSelector& selector) const;
  };
  [[nodiscard]] Moment moment() const;
  /// Without expired points. Taken after the configuration that is used with it: then it has all
  /// its fields.
  [[nodiscard]] Moment moment(const CollectionConfig& config) const;
  [[nodiscard]] Result<Snapshot> snapshot(const CollectionConfig& config,
                                          const ShardSelector& selector) const {
    return moment(config).select(selector);
  }
  void delete_expired();
  /// Makes the table of jobs and lets those that have not ended start again.
  Result<> open_jobs(const JobContext& context);
  Result<> open_private_sums();
  void open_recall(const JobContext* jobs);
  [[nodiscard]] Result<RecallTable> measure_prepared(const RecallRequest& request,
                                                     const Cancel& cancel) const;
  /// As jobs need it: waits until the operations are durable.
  Result<> apply(std::vector<Operation> operations);
  /// Of a search that counts as one of the collection's. All that is given outlives it.
  [[nodiscard]] SearchEnvironment searching(const Snapshot& now,
                                            const std::shared_ptr<const CollectionConfig>& config,
                                            const Cancel& cancel, Executor* executor,
                                            index::WorkCounters& work) const;
  [[nodiscard]] Result<std::vector<Record>> run(
      const Query& query, const Plan& plan, const QueryCost& cost, const Snapshot& now,
      const std::shared_ptr<const CollectionConfig>& config, const Cancel& cancel) const;
  /// Opens the shards of `config` that `listed` lacks, whose directories are new.
  [[nodiscard]] Result<Shards> with_new_shards(const Shards& listed,
                                               std::shared_ptr<const CollectionConfig> config);
  /// Puts a key less in force and returns its shards.
  Result<Shards> take_shards(const ShardKey& key);
  void remove_shards(const Shards& dropped);
  /// `answer`, or kUnavailable if the segments it was read from turned out to be damaged.
  template <class T>
  static Result<T> checked(const Snapshot& read, Result<T> answer);
  [[nodiscard]] IndexPolicy index_policy(
      const std::shared_ptr<const CollectionConfig>& config) const;

  const std::string path_;
  /// New fields appear in it once all shards have them.
  Published<CollectionConfig> config_;
  const ShardContext context_;
  WriteGate place_;  ///< closed while the rows of a shard are not in their place
  Executor& compute_;
  const SaveConfig save_config_;
  Mutex change_mutex_;  ///< one change of configuration at a time
  /// Keys are created and dropped between bulk loads, and while no files are linked.
  Published<Shards> shards_{std::make_shared<const Shards>()};
  std::atomic<bool> closed_ = false;
  mutable WorkTotals search_work_;
  mutable Expiry expiry_;
  const std::shared_ptr<std::atomic<bool>> deleting_expired_ =
      std::make_shared<std::atomic<bool>>(false);
  double opening_s_ = 0;
  std::atomic<bool> is_half_closed_ = false;
  std::atomic<std::uint64_t> n_being_queued_ = 0;  ///< calls of `update` that have not returned
  UpdateTurns turns_{*context_.lanes, context_.max_queued_bytes};
  std::unique_ptr<CollectionJobs> jobs_;  ///< nullptr: there are none
  std::unique_ptr<CollectionSums> private_sums_;
  std::unique_ptr<CollectionRecall> recall_;  ///< never nullptr once opened
  CollectionBulk bulk_{shards_, config_, *context_.background};
};

}  // namespace quiver::engine

// A collection over its shards.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/collection.h"
#include "engine/model/repair_report.h"
#include "engine/segment/snapshot.h"
#include "engine/shard/shard.h"
#include "engine/work_totals.h"
#include "engine/write/bulk_rows.h"

namespace quiver::engine {

class Plan;

class CollectionImpl final : public Collection,
                             public std::enable_shared_from_this<CollectionImpl> {
 public:
  /// Makes a changed configuration durable before it is put in force.
  using SaveConfig = std::function<Result<>(const CollectionConfig&)>;

  /// The manifests of all shards, without opening one. kDataLoss if one is damaged.
  static Result<> check(const std::string& path, const CollectionConfig& config,
                        const ShardContext& context, storage::Opening opening);
  /// The logs of all shards, too, while the collection is not open. As many bytes are read as were
  /// written since the last restart, at most.
  static Result<> check_logs(const std::string& path, const CollectionConfig& config,
                             const ShardContext& context);
  /// As `check_shard` and `repair_shard`, for all shards below `path`.
  static Result<std::vector<ShardFindings>> read_all(const std::string& path,
                                                     const CollectionConfig& config,
                                                     const ShardContext& context);
  static Result<std::vector<std::optional<ShardRepair>>> repair(const std::string& path,
                                                                const CollectionConfig& config,
                                                                const ShardContext& context);
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
  Result<> bulk_load(const BulkChunk& chunk) override QV_EXCLUDES(bulk_mutex_);
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
  [[nodiscard]] bool shares_passes(const Query& query) const override;
  [[nodiscard]] bool is_small(const Query& query) const override;
  Result<> create_index(const payload::FieldIndex& index, Ack ack) override;
  Result<bool> drop_index(const std::string& key) override;

  /// Changes the configuration: durable on return; kVisible: in force in every shard, too.
  Result<> change_config(const std::function<Result<>(CollectionConfig&)>& change,
                         Ack ack = Ack::kVisible);
  void tick();
  /// Updates are taken while all shards' rows are in their place; an error says which are not.
  Result<> check_place();
  /// Applies what is queued and closes the shards; reads of earlier snapshots go on.
  Result<> close();

 private:
  [[nodiscard]] Result<> check_gates() const;
  /// `context`: with what this collection has of its own.
  CollectionImpl(std::shared_ptr<const CollectionConfig> config, ShardContext context,
                 Executor& compute, SaveConfig save_config)
      : config_(std::move(config)),
        context_(std::move(context)),
        compute_(compute),
        save_config_(std::move(save_config)) {}

  /// A bulk load that is neither finished nor cancelled in all shards.
  struct OpenLoad {
    std::uint64_t number = 0;
    bool decided = false;
    std::vector<std::uint32_t> shards;  ///< that take part
  };

  // Bulk loading (collection_bulk.cc).
  Result<> run_bulk(BulkRows& rows, const std::optional<std::string>& cursor)
      QV_REQUIRES(bulk_mutex_);
  Result<> write_bulk(const BulkRows& rows, const std::vector<BulkStart>& starts)
      QV_REQUIRES(bulk_mutex_);
  /// Brings an open load to its end.
  Result<> settle_bulk() QV_REQUIRES(bulk_mutex_);
  void retry_bulk();

  class Planned;

  [[nodiscard]] Snapshot snapshot() const;
  [[nodiscard]] Result<std::vector<Record>> run(
      const Plan& plan, const QueryCost& cost, const Snapshot& now,
      const std::shared_ptr<const CollectionConfig>& config, const Cancel& cancel) const;
  /// `answer`, unless what it was made of turned out to be damaged: then kUnavailable.
  template <class T>
  static Result<T> checked(const Snapshot& read, Result<T> answer);
  [[nodiscard]] Result<std::vector<Record>> retrieve_from(const Snapshot& now,
                                                          const RetrieveRequest& request) const;
  [[nodiscard]] Result<ScrollPage> scroll_from(const Snapshot& now, const ScrollRequest& request,
                                               const Cancel& cancel) const;
  [[nodiscard]] Result<std::uint64_t> count_from(const Snapshot& now,
                                                 const std::optional<payload::Filter>& filter,
                                                 const Cancel& cancel) const;
  [[nodiscard]] IndexPolicy index_policy(
      const std::shared_ptr<const CollectionConfig>& config) const;
  Result<> scroll_by_value(const ScrollRequest& request, const Snapshot& snapshot,
                           const payload::Predicate* predicate,
                           const std::vector<std::size_t>* fields, const Cancel& cancel,
                           ScrollPage& page) const;

  Published<CollectionConfig> config_;
  const ShardContext context_;
  WriteGate place_;  ///< closed while the rows of a shard are not in their place
  Executor& compute_;
  const SaveConfig save_config_;
  Mutex change_mutex_;  ///< one change of configuration at a time
  std::vector<std::unique_ptr<Shard>> shards_;
  mutable WorkTotals search_work_;
  double opening_s_ = 0;

  Mutex bulk_mutex_;  ///< held across I/O: it is what makes bulk loads one after another
  std::optional<OpenLoad> open_load_ QV_GUARDED_BY(bulk_mutex_);
  std::uint64_t last_load_ QV_GUARDED_BY(bulk_mutex_) = 0;
  std::atomic<bool> unsettled_ = false;  ///< a load stayed open after an error
};

}  // namespace quiver::engine

// A collection over its shards.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/collection.h"
#include "engine/shard.h"
#include "engine/snapshot.h"

namespace quiver::engine {

class CollectionImpl final : public Collection {
 public:
  /// Makes a changed configuration durable before it is put in force.
  using SaveConfig = std::function<Result<>(const CollectionConfig&)>;

  /// Opens or creates the shards below `path`.
  static Result<std::shared_ptr<CollectionImpl>> open(
      const std::string& path, std::shared_ptr<const CollectionConfig> config,
      const ShardContext& context, Executor& compute, SaveConfig save_config);

  [[nodiscard]] std::shared_ptr<const CollectionConfig> config() const override {
    return config_.load();
  }
  [[nodiscard]] CollectionInfo info() const override;
  [[nodiscard]] OptimizationReport optimizations() const override;
  Result<> update(std::vector<Operation> operations, Ack ack,
                  std::function<void(Result<std::vector<UpdateResult>>)> done) override;
  [[nodiscard]] Result<std::vector<Record>> query(const Query& query,
                                                  const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<Record>> retrieve(const RetrieveRequest& request) const override;
  [[nodiscard]] Result<ScrollPage> scroll(const ScrollRequest& request,
                                          const Cancel& cancel) const override;
  [[nodiscard]] Result<std::uint64_t> count(const std::optional<payload::Filter>& filter,
                                            const Cancel& cancel) const override;
  [[nodiscard]] bool is_small(const Query& query) const override;
  Result<> create_index(const payload::FieldIndex& index) override;
  Result<bool> drop_index(const std::string& key) override;

  /// Changes the configuration: durable first, then in force in every shard, on return.
  Result<> change_config(const std::function<Result<>(CollectionConfig&)>& change);
  void tick();
  /// Applies what is queued and closes the shards; reads of earlier snapshots go on.
  Result<> close();

 private:
  CollectionImpl(std::shared_ptr<const CollectionConfig> config, ShardContext context,
                 Executor& compute, SaveConfig save_config)
      : config_(std::move(config)),
        context_(std::move(context)),
        compute_(compute),
        save_config_(std::move(save_config)) {}

  [[nodiscard]] Snapshot snapshot() const;
  Result<> scroll_by_value(const ScrollRequest& request, const Snapshot& snapshot,
                           const payload::Predicate* predicate,
                           const std::vector<std::size_t>* fields, const Cancel& cancel,
                           ScrollPage& page) const;

  Published<CollectionConfig> config_;
  const ShardContext context_;
  Executor& compute_;
  const SaveConfig save_config_;
  Mutex change_mutex_;  ///< one change of configuration at a time
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace quiver::engine

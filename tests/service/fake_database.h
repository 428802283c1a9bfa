// A Database in a map: enough of one to test the wire against. Exact dot products, no filters.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/threads/executor.h"
#include "engine/database.h"

namespace quiver::service {

class FakeCollection final : public engine::Collection {
 public:
  FakeCollection(engine::CollectionConfig config, Executor& executor)
      : config_(std::make_shared<const engine::CollectionConfig>(std::move(config))),
        executor_(executor) {}

  std::shared_ptr<const engine::CollectionConfig> config() const override;
  void set_config(engine::CollectionConfig config);
  engine::CollectionInfo info() const override;
  engine::OptimizationReport optimizations() const override { return {}; }
  /// One shard with one growing segment.
  std::vector<engine::ShardInfo> shards() const override;
  Result<> update(std::vector<engine::Operation> operations, const engine::UpdateTerms& terms,
                  std::function<void(Result<std::vector<engine::UpdateResult>>)> done) override;
  /// Outlives what it returns.
  std::shared_ptr<const engine::PlannedQuery> plan(engine::Query query) const override;
  Result<std::vector<engine::Record>> query(const engine::Query& query,
                                            const Cancel& cancel) const override;
  Result<std::vector<std::vector<engine::Record>>> query_batch(
      std::span<const engine::Query> queries, const Cancel& cancel) const override;
  Result<std::vector<engine::Record>> retrieve(
      const engine::RetrieveRequest& request) const override;
  Result<engine::ScrollPage> scroll(const engine::ScrollRequest& request,
                                    const Cancel& cancel) const override;
  Result<std::uint64_t> count(const engine::CountRequest& request,
                              const Cancel& cancel) const override;
  bool shares_passes() const;
  bool is_small(const engine::Query& query) const { return query.limit <= 100; }
  /// The number of queries in the largest batch so far.
  std::size_t largest_batch() const { return largest_batch_; }
  Result<> create_index(const payload::FieldIndex& index, engine::Ack ack) override;
  Result<bool> drop_index(const std::string& key) override;

 private:
  struct Point {
    std::vector<engine::NamedVector> vectors;
    std::string payload;
  };
  bool is_asked_to_be(std::string_view word) const;
  Result<> check(const engine::Operation& operation) const;
  void apply(const engine::Operation& operation) QV_REQUIRES(mutex_);
  engine::Record record(const PointId& id, const Point& point, const payload::Selector& payload,
                        const engine::VectorSelector& vectors) const;

  mutable Mutex mutex_;
  std::shared_ptr<const engine::CollectionConfig> config_ QV_GUARDED_BY(mutex_);
  std::map<PointId, Point> points_ QV_GUARDED_BY(mutex_);
  std::vector<payload::FieldIndex> indexes_ QV_GUARDED_BY(mutex_);
  std::uint64_t seq_ QV_GUARDED_BY(mutex_) = 0;
  mutable std::atomic<std::size_t> largest_batch_ = 0;
  mutable std::atomic<std::size_t> n_running_ = 0;
  mutable std::atomic<bool> were_together_ = false;
  Executor& executor_;
};

/// Words in a collection's configuration change what it does; tests put them into `metadata`.
/// `"slow"`: queries take 200 ms unless cancelled. `"endless"`: they end only when cancelled.
/// `"full"`: the queue of updates is full. `"shared"`: queries share passes. `"throws"`: queries
/// throw. `"together"`: batches never end, and each query waits for a second one beside it.
class FakeDatabase final : public engine::Database {
 public:
  FakeDatabase() : compute_(2, "fake-compute"), updates_(1, "fake-update") {}

  std::vector<std::string> collection_names() const override;
  std::vector<std::pair<std::string, std::shared_ptr<engine::Collection>>> open_collections()
      const override;
  Result<std::shared_ptr<engine::Collection>> collection(const std::string& name) override;
  std::shared_ptr<engine::Collection> collection_if_open(const std::string& name) override;
  bool exists(const std::string& name_or_alias) const override;
  Result<> create_collection(const std::string& name, engine::CollectionConfig config) override;
  Result<bool> drop_collection(const std::string& name) override;
  Result<> update_config(const std::string& name,
                         const std::function<Result<>(engine::CollectionConfig&)>& change) override;
  Result<> update_aliases(const std::vector<engine::AliasAction>& actions) override;
  std::vector<engine::Alias> aliases() const override;
  Result<> resolve_lookups(const std::string&, engine::Query&) override { return {}; }
  bool ready(std::string*) const override { return true; }
  Executor& compute() override { return compute_; }
  Result<std::shared_ptr<FakeCollection>> find(const std::string& name) const;
  Result<> close() override { return {}; }

  /// The next request finds no collection open.
  void close_collections();

  /// Called by `collection`, on the thread that asks for it.
  std::function<void()> before_opening = [] {};

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<FakeCollection>> collections_ QV_GUARDED_BY(mutex_);
  std::map<std::string, std::string> aliases_ QV_GUARDED_BY(mutex_);
  std::set<std::string> opened_ QV_GUARDED_BY(mutex_);  ///< names and aliases
  Executor compute_;
  Executor updates_;
};

}  // namespace quiver::service

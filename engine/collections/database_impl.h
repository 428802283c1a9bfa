// All collections of one data directory: the verbs of Database, threads, start and stop.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "base/mutex.h"
#include "base/threads/executor.h"
#include "base/threads/lane.h"
#include "engine/collections/catalog_gate.h"
#include "engine/collections/collection_table.h"
#include "engine/collections/database_snapshots.h"
#include "engine/collections/scrub.h"
#include "engine/database.h"
#include "engine/shard/shard_context.h"

namespace quiver::engine {

/// Thread-safe after `start`. Two threads of its own: one ticks, one reads logs after the start;
/// the scrub has a third.
class DatabaseImpl final : public Database {
 public:
  explicit DatabaseImpl(DatabaseOptions options);
  ~DatabaseImpl() override;
  DatabaseImpl(const DatabaseImpl&) = delete;
  DatabaseImpl& operator=(const DatabaseImpl&) = delete;

  Result<> start();

  [[nodiscard]] std::vector<std::string> collection_names() const override;
  [[nodiscard]] Result<std::shared_ptr<Collection>> collection(const std::string& name) override;
  [[nodiscard]] std::shared_ptr<Collection> collection_if_open(const std::string& name) override {
    return collections_.find_open(name);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::shared_ptr<Collection>>> open_collections()
      const override;
  [[nodiscard]] StoreMemory store_memory() const override;
  [[nodiscard]] std::vector<std::string> strangers() const override;
  [[nodiscard]] bool exists(const std::string& name_or_alias) const override;
  Result<> create_collection(const std::string& name, CollectionConfig config) override;
  [[nodiscard]] Result<CollectionFindings> check(const std::string& name) override;
  Result<CollectionRepair> repair(const std::string& name) override;
  Result<> leave_cluster(const std::string& name) override;
  Result<bool> drop_collection(const std::string& name) override;
  Result<> update_config(const std::string& name,
                         const std::function<Result<>(CollectionConfig&)>& change) override;
  Result<> update_aliases(const std::vector<AliasAction>& actions) override;
  [[nodiscard]] Result<std::vector<Alias>> plan_aliases(
      const std::vector<AliasAction>& actions) const override;
  [[nodiscard]] std::vector<Alias> aliases() const override;
  Result<> resolve_lookups(const std::string& name, Query& query) override;
  [[nodiscard]] Snapshots* snapshots() override { return &snapshots_; }
  [[nodiscard]] Result<std::uint64_t> request_scrub() override { return scrub_.request(); }
  [[nodiscard]] ScrubStatus scrub_status() const override { return scrub_.status(); }
  [[nodiscard]] bool ready(std::string* why) const override;
  [[nodiscard]] Executor& compute() override { return compute_; }
  [[nodiscard]] Executor& expensive() override { return expensive_; }
  Result<> close() override QV_EXCLUDES(tick_mutex_);

 private:
  /// The vector of a point of another collection. kNotFound if one of the three is missing.
  [[nodiscard]] storage::Catalog& catalog() const { return gate_.catalog(); }
  void fill_context();
  /// The collection that a file below `collections` belongs to.
  [[nodiscard]] std::string collection_of(std::string_view path) const;
  void tick_until_closed() QV_EXCLUDES(tick_mutex_);

  const DatabaseOptions options_;
  Executor compute_;
  Executor expensive_;
  Executor lanes_;
  Executor background_;
  Executor snapshot_readers_;
  Executor jobs_;
  SerialLane job_turns_{jobs_, Priority::kHigh};
  JobContext job_context_{&jobs_, &job_turns_, options_.decode_job};
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<Directory> collections_directory_;
  ShardContext context_;
  CatalogGate gate_;
  CollectionTable collections_;
  DatabaseSnapshots snapshots_;
  Scrub scrub_;

  Mutex tick_mutex_;
  CondVar tick_wake_;
  std::atomic<bool> closed_ = false;  ///< set under `tick_mutex_`
  std::thread ticker_;
  std::thread log_check_;  ///< a thread of its own, since it waits for openings
};

}  // namespace quiver::engine

// The database of a node: changes of the catalog are made through the ledger.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "cluster/cluster_snapshots.h"
#include "cluster/records.h"
#include "engine/database.h"

namespace quiver::cluster {

/// What a change of the catalog needs of the node.
class CatalogLedger {
 public:
  virtual ~CatalogLedger() = default;
  /// kUnavailable unless this node leads.
  [[nodiscard]] virtual Result<> check_leads() const = 0;
  /// kUnavailable unless the ledger says that this node leads. Waits for its answer.
  [[nodiscard]] virtual Result<> confirm_leads_now() = 0;
  /// Writes under the condition that this node leads. False: a condition failed. Asks until the
  /// outcome is known; kUnavailable if this node does not lead any more.
  [[nodiscard]] virtual Result<bool> write(Transaction transaction) = 0;
  /// Returns when the other nodes have seen what was written, or do not in time.
  virtual void tell_nodes() = 0;
  /// Of collections that this node has.
  [[nodiscard]] virtual std::map<std::string, std::string> local_aliases() const = 0;
  /// These are dropped.
  virtual void forget(const std::set<engine::ShardName>& shards) = 0;
  /// As of the last look; nullptr: none yet.
  [[nodiscard]] virtual std::shared_ptr<const ClusterState> last_state() const = 0;
  /// As of now.
  [[nodiscard]] virtual Result<ClusterState> fetch_state() = 0;
  /// The nodes for a new collection, or for each of its parts; empty: all nodes.
  [[nodiscard]] virtual Result<std::vector<MemberSet>> place(
      const engine::CollectionConfig& config) = 0;
  /// nullptr: there is no spread collection of this name or alias.
  [[nodiscard]] virtual std::shared_ptr<engine::Collection> spread_collection(
      const std::string& name_or_alias) = 0;
  /// As `Database::update_config`, of a spread collection. On any node.
  [[nodiscard]] virtual Result<> change_spread_config(
      const std::string& name_or_alias,
      const std::function<Result<>(engine::CollectionConfig&)>& change) = 0;
  /// Returns when this node has looked at the ledger; an error: not in time.
  [[nodiscard]] virtual Result<std::string> refresh() = 0;
};

/// Reads go to the local database. Collections that are on other nodes only are known by name.
class ClusterDatabase final : public engine::Database {
 public:
  /// All outlive this. `catalog_mutex`: one change of the catalog at a time.
  ClusterDatabase(const Keys& keys, CatalogLedger& ledger, engine::Database& local,
                  RestoreLeader& restores, Mutex& catalog_mutex)
      : keys_(keys), ledger_(ledger), local_(local), catalog_mutex_(catalog_mutex) {
    if (auto* snapshots = local.snapshots()) snapshots_.emplace(*snapshots, restores);
  }

  /// Those of other nodes, too.
  [[nodiscard]] std::vector<std::string> collection_names() const override;
  /// kUnavailable, naming the nodes that have it, if it is not on this one.
  [[nodiscard]] Result<std::shared_ptr<engine::Collection>> collection(
      const std::string& name) override;
  [[nodiscard]] std::shared_ptr<engine::Collection> collection_if_open(
      const std::string& name) override {
    if (parse_part_name(name)) return nullptr;
    auto open = local_.collection_if_open(name);
    return open != nullptr ? open : ledger_.spread_collection(name);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::shared_ptr<engine::Collection>>>
  open_collections() const override {
    return local_.open_collections();
  }
  [[nodiscard]] engine::StoreMemory store_memory() const override { return local_.store_memory(); }
  [[nodiscard]] std::vector<std::string> strangers() const override { return local_.strangers(); }
  [[nodiscard]] bool exists(const std::string& name_or_alias) const override;
  Result<> create_collection(const std::string& name, engine::CollectionConfig config) override;
  [[nodiscard]] Result<engine::CollectionFindings> check(const std::string& name) override {
    return local_.check(name);
  }
  Result<engine::CollectionRepair> repair(const std::string& name) override {
    return local_.repair(name);
  }
  Result<bool> drop_collection(const std::string& name) override;
  /// The collection itself commits its configuration (engine::Replication).
  Result<> update_config(const std::string& name,
                         const std::function<Result<>(engine::CollectionConfig&)>& change) override;
  Result<> update_aliases(const std::vector<engine::AliasAction>& actions) override;
  [[nodiscard]] std::vector<engine::Alias> aliases() const override;
  /// kFailedPrecondition if a named collection is on other nodes only.
  Result<> resolve_lookups(const std::string& name, engine::Query& query) override;
  [[nodiscard]] engine::Snapshots* snapshots() override {
    return snapshots_ ? &*snapshots_ : nullptr;
  }
  [[nodiscard]] Result<std::uint64_t> request_scrub() override { return local_.request_scrub(); }
  [[nodiscard]] engine::ScrubStatus scrub_status() const override { return local_.scrub_status(); }
  [[nodiscard]] bool ready(std::string* why) const override { return local_.ready(why); }
  [[nodiscard]] Executor& compute() override { return local_.compute(); }
  [[nodiscard]] Executor& expensive() override { return local_.expensive(); }
  Result<> close() override { return local_.close(); }

 private:
  using Aliases = std::map<std::string, std::string>;

  [[nodiscard]] Result<> create_here(const std::string& name, engine::CollectionConfig config);
  /// `sets`: one for the whole collection, or one for each part.
  [[nodiscard]] Result<> create_placed(const std::string& name, engine::CollectionConfig config,
                                       const std::vector<MemberSet>& sets);
  /// nullptr: it is here, or there is none.
  [[nodiscard]] std::shared_ptr<const ClusterState> state_with_remote(
      const std::string& name_or_alias) const;
  /// Also those of collections of other nodes.
  [[nodiscard]] Result<Aliases> all_aliases() const;
  [[nodiscard]] Result<> check_lookups(const engine::Query& query) const;
  /// Records of the collection, or of its parts; empty: there is none.
  [[nodiscard]] Result<std::map<std::string, engine::CollectionConfig>> records_of(
      const std::string& name);
  void add_drop(const std::string& name, const engine::CollectionConfig& config,
                Transaction& change) const;

  const Keys& keys_;
  CatalogLedger& ledger_;
  engine::Database& local_;
  Mutex& catalog_mutex_;
  std::optional<ClusterSnapshots> snapshots_;
};

}  // namespace quiver::cluster

// The shards of this node as replicas: committed entries are fetched, stored and applied in order.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/threads/published.h"
#include "cluster/ledger/ledger.h"
#include "cluster/messages.h"
#include "cluster/node.h"
#include "cluster/records.h"
#include "engine/database.h"

namespace quiver::cluster {

/// Thread-safe.
class Replicas {
 public:
  /// All outlive this.
  Replicas(const Keys& keys, Ledger& ledger, PeerClient& peers,
           const Published<ClusterState>& state)
      : keys_(keys), ledger_(ledger), peers_(peers), state_(state) {}

  /// Called before anything else.
  void set_database(engine::Database& local) { local_ = &local; }
  void set_self(NodeId self) { self_ = self; }

  /// kNotFound while the shard is not on this node (yet).
  [[nodiscard]] Result<std::shared_ptr<engine::Replica>> find(const engine::ShardName& shard) const;
  /// The newest entry that is applied; 0: none, or the shard is not on this node.
  [[nodiscard]] engine::EntryNumber applied(const engine::ShardName& shard) const;
  /// Returns when all entries up to `target` are applied. kUnavailable if one cannot be had or
  /// applied now, or this takes long: then it is called again, as what was applied stays so.
  /// kOutOfRange if one was trimmed.
  [[nodiscard]] Result<> apply_up_to(const engine::ShardName& shard, const engine::EntryId& target);

 private:
  /// Entries that were queued and are not all applied.
  class Pending;

  [[nodiscard]] Result<std::vector<Header>> headers(const engine::ShardName& shard,
                                                    engine::EntryNumber from,
                                                    const engine::EntryId& target) const;
  [[nodiscard]] Result<std::string> body(const engine::ShardName& shard, engine::Replica& replica,
                                         const Header& header) const;
  [[nodiscard]] Result<std::string> fetch(const engine::ShardName& shard,
                                          const Header& header) const;
  [[nodiscard]] Mutex& mutex_of(const engine::ShardName& shard) QV_EXCLUDES(mutex_);

  const Keys& keys_;
  Ledger& ledger_;
  PeerClient& peers_;
  const Published<ClusterState>& state_;
  engine::Database* local_ = nullptr;
  NodeId self_ = 0;

  Mutex mutex_;
  /// One thread at a time applies entries of a shard.
  std::map<engine::ShardName, std::unique_ptr<Mutex>> shards_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::cluster

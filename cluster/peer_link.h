// What the leader sends to one other node: bodies to store, and which entries are committed.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "cluster/node.h"
#include "engine/model/replication.h"

namespace quiver::cluster {

/// Thread-safe. Two threads: bodies must not wait until earlier entries are applied.
class PeerLink {
 public:
  /// Called from the link's threads, without a lock of the link.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_stored(NodeId peer, const engine::ShardName& shard,
                           const engine::EntryId& id) = 0;
    virtual void on_applied(NodeId peer, const engine::ShardName& shard,
                            engine::EntryNumber number) = 0;
    /// False: the entry need not be sent any more.
    [[nodiscard]] virtual bool is_wanted(const engine::ShardName& shard,
                                         const engine::EntryId& id) = 0;
    /// False: its collection was dropped.
    [[nodiscard]] virtual bool is_known(const engine::ShardName& shard) = 0;
    virtual void on_reachable(NodeId peer, bool is_reachable) = 0;
  };

  /// All outlive the link.
  PeerLink(NodeId peer, NodeAddress address, PeerClient& client, Owner& owner);
  /// Ends the threads; waits for a call that is on its way.
  ~PeerLink();
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  [[nodiscard]] const NodeAddress& address() const { return address_; }
  void store(const engine::ShardName& shard, std::shared_ptr<const engine::Entry> entry);
  void tell_committed(const engine::ShardName& shard, const engine::EntryId& id);
  /// The threads end soon; what waits is dropped.
  void stop();

 private:
  struct Body {
    engine::ShardName shard;
    std::shared_ptr<const engine::Entry> entry;
  };

  void send_bodies();
  void send_notices();
  /// Empty: the link ends.
  [[nodiscard]] std::vector<Body> next_bodies() QV_EXCLUDES(mutex_);
  [[nodiscard]] std::map<engine::ShardName, engine::EntryId> next_notices() QV_EXCLUDES(mutex_);
  void put_back(std::vector<Body> bodies) QV_EXCLUDES(mutex_);
  void put_back(const std::map<engine::ShardName, engine::EntryId>& notices) QV_EXCLUDES(mutex_);
  [[nodiscard]] bool is_stopped() QV_EXCLUDES(mutex_);
  /// Waits before a failed message is sent again.
  void pause() QV_EXCLUDES(mutex_);

  const NodeId peer_;
  const NodeAddress address_;
  PeerClient& client_;
  Owner& owner_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Body> bodies_ QV_GUARDED_BY(mutex_);
  std::map<engine::ShardName, engine::EntryId> notices_ QV_GUARDED_BY(mutex_);  ///< the newest
  bool stopped_ QV_GUARDED_BY(mutex_) = false;
  std::thread body_thread_;
  std::thread notice_thread_;
};

}  // namespace quiver::cluster

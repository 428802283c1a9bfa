// The leader's side of the log: entries are pushed to the other nodes, and committed in the ledger
// once a majority holds them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "cluster/ledger/ledger.h"
#include "cluster/node.h"
#include "cluster/peer_link.h"
#include "cluster/records.h"
#include "engine/model/replication.h"

namespace quiver::cluster {

/// What a node leads by.
struct Leadership {
  std::int64_t epoch = 0;  ///< create revision of the leader's key
  MemberSet set;
  Revision set_revision = 0;
};

/// For the entries of one group of nodes: those of a placed collection, or of all that are not.
/// Thread-safe. A thread of its own commits; two for each other node send.
///
/// Invariants:
///  1. A header is written only under the condition that this node's epoch and the set that was
///     counted are in force, and that its number is free.
///  2. It is written only when a majority of that set holds the body on stable storage.
///  3. Whoever waits for an entry is called once. While its outcome is not known, the ledger is
///     asked again.
class Committer final : public PeerLink::Owner {
 public:
  struct Options {
    NodeId self = 0;
    /// `cluster_id` of a placed collection, whose entries it commits; "": of those that are not.
    std::string group = {};
    std::chrono::milliseconds apply_timeout{2000};
    std::chrono::milliseconds commit_timeout{5000};  ///< then an entry not in the ledger is dropped
  };
  using Done = engine::Replication::Done;

  /// All outlive this. `deposed` is called, from the commit thread, when another epoch has begun.
  Committer(const Keys& keys, Ledger& ledger, PeerClient& peers, const Options& options,
            std::function<void()> deposed);
  ~Committer() override;

  /// Takes entries from now on. `tails`: the newest committed entries.
  void lead(Leadership leadership, const std::map<engine::ShardName, engine::EntryId>& tails);
  /// The set has changed under the same epoch.
  void set_members(const MemberSet& set, Revision revision);
  /// These are dropped. What is on its way for them is not remembered.
  void forget(const std::set<engine::ShardName>& shards);
  /// Logs that begin with an entry of a number that nobody has sent.
  void begin_logs(const std::map<engine::ShardName, engine::EntryId>& tails);
  /// Entries of the collection are refused from now on, until `thaw`. False if one that was taken
  /// before is still on its way after `patience`.
  [[nodiscard]] bool freeze(const std::string& cluster_id, std::chrono::milliseconds patience);
  void thaw(const std::string& cluster_id);
  [[nodiscard]] std::set<std::string> frozen() const;
  /// Forgets that shards were forgotten, but for `dropped` and those with an entry on its way.
  void forget_only(const std::set<engine::ShardName>& dropped);
  /// Takes no entries from now on; those on their way end as they end.
  void follow();
  [[nodiscard]] bool leads() const { return leads_; }
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }

  void commit(const engine::ShardName& shard, std::shared_ptr<const engine::Entry> entry,
              Done done);
  /// Calls `done` once, with success if the ledger says that this node leads.
  void confirm_leads(Done done);
  void when_replicas_applied(const std::string& cluster_id, std::function<void()> then);
  /// Runs `change` while no header is on its way to the ledger.
  [[nodiscard]] Result<> between_commits(
      const std::function<Result<>(const std::map<engine::ShardName, engine::EntryId>& tails)>&
          change);

  /// Waits until the other node has applied everything that is committed; false: not in time.
  [[nodiscard]] bool wait_until_applied(NodeId node, std::chrono::milliseconds patience);

  [[nodiscard]] std::uint64_t n_pending() const;
  [[nodiscard]] bool has_member(NodeId node) const;
  /// Entries that the other node has not applied, as far as known.
  [[nodiscard]] std::uint64_t lag_of(NodeId node) const;
  /// The newest entry that all nodes of the set have applied; 0 if that is not known.
  [[nodiscard]] engine::EntryNumber applied_everywhere(const engine::ShardName& shard) const;
  /// Ends the threads. What waits ends with kUnavailable.
  void stop();

 private:
  using Tails = std::map<engine::ShardName, engine::EntryNumber>;
  struct Pending {
    std::shared_ptr<const engine::Entry> entry;
    Done done;
    std::set<NodeId> holders;
    std::chrono::steady_clock::time_point deadline;
    int n_unknown = 0;  ///< attempts that may have put its header into the ledger
    int n_refused = 0;  ///< of these, those that are over: the header is there now or never will be
    std::string trouble = {};  ///< what the ledger last said
  };
  struct Waiting {
    Tails targets;
    std::function<void()> then;
    std::chrono::steady_clock::time_point deadline;
  };
  using Ready = std::vector<engine::ShardName>;
  using Sent = std::vector<std::pair<engine::ShardName, engine::EntryId>>;

  // PeerLink::Owner
  void on_stored(NodeId peer, const engine::ShardName& shard, const engine::EntryId& id) override;
  void on_applied(NodeId peer, const engine::ShardName& shard, engine::EntryNumber number) override;
  [[nodiscard]] bool is_wanted(const engine::ShardName& shard, const engine::EntryId& id) override;
  [[nodiscard]] bool is_known(const engine::ShardName& shard) override;
  void on_reachable(NodeId peer, bool is_reachable) override;

  void run();
  [[nodiscard]] Ready ready_entries() QV_REQUIRES(mutex_);
  [[nodiscard]] bool is_held(const Pending& pending) const QV_REQUIRES(mutex_);
  void commit_ready(const Ready& ready) QV_EXCLUDES(mutex_);
  /// True: the entries are settled. False: each must be tried alone.
  [[nodiscard]] bool try_commit(const Ready& ready) QV_EXCLUDES(mutex_);
  /// After a failed condition or an unknown outcome of this entry alone.
  void find_out(const engine::ShardName& shard) QV_EXCLUDES(mutex_);
  void settle(const engine::ShardName& shard, const Result<>& outcome) QV_EXCLUDES(mutex_);
  /// The ledger has not done it for sure.
  void note_refusal(const Sent& sent, const Error& refusal) QV_EXCLUDES(mutex_);
  struct Overdue {
    Done done;
    Error reason;
  };
  [[nodiscard]] std::vector<Overdue> take_overdue() QV_REQUIRES(mutex_);
  [[nodiscard]] bool is_applied(const Waiting& waiting) const QV_REQUIRES(mutex_);
  [[nodiscard]] bool has_applied(NodeId peer, const Tails& targets) const QV_REQUIRES(mutex_);
  [[nodiscard]] Tails tail_numbers() const QV_REQUIRES(mutex_);
  [[nodiscard]] std::vector<std::function<void()>> take_answered() QV_REQUIRES(mutex_);
  void answer_confirmations(std::vector<Done> asked) QV_EXCLUDES(mutex_);
  void connect_peers() QV_REQUIRES(mutex_);

  const Keys& keys_;
  Ledger& ledger_;
  PeerClient& peers_;
  const Options options_;
  const std::function<void()> deposed_;
  std::atomic<bool> leads_ = false;
  std::atomic<std::int64_t> epoch_ = 0;

  Mutex commit_mutex_;  ///< held while headers are on their way; taken before `mutex_`
  mutable Mutex mutex_;
  CondVar changed_;
  Leadership leadership_ QV_GUARDED_BY(mutex_);
  std::map<engine::ShardName, Pending> pending_ QV_GUARDED_BY(mutex_);
  std::map<engine::ShardName, engine::EntryId> tails_ QV_GUARDED_BY(mutex_);
  std::map<NodeId, Tails> applied_ QV_GUARDED_BY(mutex_);
  /// Not waited for until they have applied these.
  std::map<NodeId, Tails> late_ QV_GUARDED_BY(mutex_);
  std::set<engine::ShardName> forgotten_ QV_GUARDED_BY(mutex_);
  std::set<std::string> frozen_ QV_GUARDED_BY(mutex_);  ///< ids of collections
  std::vector<Done> confirmations_ QV_GUARDED_BY(mutex_);
  std::set<NodeId> unreachable_ QV_GUARDED_BY(mutex_);
  std::list<Waiting> waiting_ QV_GUARDED_BY(mutex_);
  std::map<NodeId, std::unique_ptr<PeerLink>> links_ QV_GUARDED_BY(mutex_);
  /// Stopped; `stop` waits for their last calls.
  std::vector<std::unique_ptr<PeerLink>> retired_ QV_GUARDED_BY(mutex_);
  bool stopped_ QV_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace quiver::cluster

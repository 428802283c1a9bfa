// The parts of a node and the threads that drive them.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/threads/published.h"
#include "cluster/answer_times.h"
#include "cluster/background.h"
#include "cluster/cluster_database.h"
#include "cluster/committer.h"
#include "cluster/copies.h"
#include "cluster/hedged_reads.h"
#include "cluster/ledger/ledger.h"
#include "cluster/messages.h"
#include "cluster/moves.h"
#include "cluster/node.h"
#include "cluster/parts/part_calls.h"
#include "cluster/records.h"
#include "cluster/replicas.h"
#include "cluster/restores.h"
#include "engine/database.h"

namespace quiver::cluster {

/// Two threads of its own, beside the committer's: one keeps the lease, one looks at the ledger,
/// each second or when woken, and does what is to be done: campaign, catch up, adopt the catalog,
/// admit members.
class NodeImpl final : public Node,
                       public engine::Replication,
                       public CatalogLedger,
                       public RestoreLeader,
                       public PartRouter {
 public:
  /// `cluster`: that its data directory belongs to; empty: none yet.
  NodeImpl(NodeOptions options, NodeId self, std::string cluster, Ledger& ledger,
           PeerClient& peers);
  ~NodeImpl() override;

  // Node
  [[nodiscard]] engine::Replication& replication() override { return *this; }
  Result<> start(engine::Database& local) override;
  [[nodiscard]] engine::Database& database() override { return *database_; }
  [[nodiscard]] Result<std::optional<NodeAddress>> leader() const override;
  [[nodiscard]] Result<std::optional<NodeAddress>> leader_of(
      std::string_view collection) const override;
  [[nodiscard]] bool has_placements() const override {
    const auto state = state_.load();
    return state != nullptr && !state->placed.empty();
  }
  [[nodiscard]] std::optional<Holders> holders(std::string_view collection) const override;
  bool ask_holders(const Holders& holders, const HedgedReads::Ask& ask) override {
    return hedged_.ask(holders.others, holders.patience, ask);
  }
  void note_question(const NodeAddress& node) override { answer_times_.begin(node); }
  void note_answer(const NodeAddress& node, std::optional<std::chrono::nanoseconds> took) override {
    answer_times_.note(node, took);
  }
  [[nodiscard]] std::vector<PlacementView> placements() const override;
  [[nodiscard]] std::optional<PlacementView> placement(std::string_view collection) const override;
  [[nodiscard]] Result<> change_replicas(std::string_view collection,
                                         const ReplicaChange& change) override;
  [[nodiscard]] std::vector<PlacementView> part_placements(
      std::string_view collection) const override;
  [[nodiscard]] Result<> change_part_replicas(const std::string& part,
                                              const ReplicaChange& change) override;
  [[nodiscard]] Result<> drain(NodeId node) override;
  [[nodiscard]] Result<> end_drain(NodeId node) override;
  [[nodiscard]] Result<> remove(NodeId node, Removal removal) override;
  [[nodiscard]] Result<> wait_until_fresh(std::string_view collection,
                                          std::chrono::steady_clock::time_point deadline) override;
  [[nodiscard]] NodeView view() const override;
  [[nodiscard]] Result<std::string> answer(std::string_view verb, std::string_view body) override;
  void stop() override;

  // engine::Replication
  [[nodiscard]] Result<> check_leads(const std::string& cluster_id) const override;
  void commit(const engine::ShardName& shard, std::shared_ptr<const engine::Entry> entry,
              Done done) noexcept override;
  void confirm_leads(const std::string& cluster_id, Done done) noexcept override;
  [[nodiscard]] Result<> commit_config(const std::string& name,
                                       const engine::CollectionConfig& base,
                                       const engine::CollectionConfig& config) override;
  void when_replicas_applied(const std::string& cluster_id,
                             std::function<void()> then) noexcept override;

 private:
  // CatalogLedger
  [[nodiscard]] Result<> check_leads() const override;
  [[nodiscard]] Result<> confirm_leads_now() override;
  [[nodiscard]] Result<bool> write(Transaction transaction) override;
  /// Under the condition that this node leads the collection.
  [[nodiscard]] Result<bool> write_as_leader_of(const std::string& cluster_id,
                                                Transaction transaction);
  [[nodiscard]] Result<bool> is_written(const Transaction& transaction);
  void tell_nodes() override;
  [[nodiscard]] std::map<std::string, std::string> local_aliases() const override;
  void forget(const std::set<engine::ShardName>& shards) override;
  [[nodiscard]] std::shared_ptr<const ClusterState> last_state() const override {
    return state_.load();
  }
  [[nodiscard]] Result<ClusterState> fetch_state() override;
  [[nodiscard]] Result<std::vector<MemberSet>> place(
      const engine::CollectionConfig& config) override;
  [[nodiscard]] Result<std::vector<MemberSet>> place_parts(const engine::CollectionConfig& config,
                                                           std::uint32_t n_parts);
  [[nodiscard]] std::shared_ptr<engine::Collection> spread_collection(
      const std::string& name_or_alias) override;
  [[nodiscard]] Result<> change_spread_config(
      const std::string& name_or_alias,
      const std::function<Result<>(engine::CollectionConfig&)>& change) override;

  // PartRouter: node_parts.cc
  [[nodiscard]] Result<std::shared_ptr<engine::Collection>> part_here(const std::string& part,
                                                                      PartVerb verb) override;
  [[nodiscard]] Result<std::string> ask_part(const std::string& part, PartVerb verb,
                                             std::string_view message) override;
  [[nodiscard]] PartEntries wanted_of(const std::string& part) const override QV_EXCLUDES(mutex_);
  void look_again() override;
  [[nodiscard]] std::chrono::milliseconds patience_for(const std::string& part,
                                                       PartVerb verb) const override;
  [[nodiscard]] std::shared_ptr<const engine::CollectionConfig> config_of_part(
      const std::string& part) const override;
  [[nodiscard]] Result<std::string> answer_part(std::string_view message);
  void want_from_now(const ClusterState& state, const std::string& name) QV_EXCLUDES(mutex_);
  /// `part_here`, without a wait.
  [[nodiscard]] Result<std::shared_ptr<engine::Collection>> held_part(const std::string& part,
                                                                      PartVerb verb);
  [[nodiscard]] Result<> wait_for_wanted(const PartEntries& wanted);
  /// On the node that leads the part. kAborted unless it is configured as `base` or `config`.
  [[nodiscard]] Result<> set_part_config(const std::string& part, const std::string& base,
                                         const std::string& config);
  [[nodiscard]] Result<> send_part_config(const std::string& part,
                                          const engine::CollectionConfig& base,
                                          const engine::CollectionConfig& config);
  void follow_first_part(const ClusterState& state, const std::string& id);
  [[nodiscard]] Result<std::string> refresh() override;

  // RestoreLeader
  [[nodiscard]] Result<engine::SnapshotScope> scope_here(
      const engine::SnapshotScope& scope) const override;
  [[nodiscard]] Result<> check_held(const std::string& collection) const override;
  [[nodiscard]] Result<std::unique_ptr<Restores::Draft>> begin_restore(
      const std::string& name, const std::string& checksum) override;
  [[nodiscard]] Result<> restore_everywhere(const Restores::Draft& draft) override;

  // Restores of snapshots: node_restores.cc.
  struct Run {
    bool is_over = false;
    Result<> outcome;  ///< kAborted: this node does not lead any more
    std::thread thread;
  };
  [[nodiscard]] Result<std::string> ask_to_restore(const std::string& message);
  [[nodiscard]] Result<> wait_until_restored(const std::string& id, const std::string& name);
  /// True for a collection that this node has and the cluster does not.
  [[nodiscard]] bool is_own_alone(const std::string& name) const;
  [[nodiscard]] static Error own_alone(const std::string& name);
  [[nodiscard]] Result<std::string> stage_restore(std::string_view message);
  [[nodiscard]] Result<bool> hold_archive(const std::string& id, const std::string& name,
                                          const std::string& peer, bool must_fit);
  [[nodiscard]] Result<> install_restored(const ClusterState& state, const std::string& name,
                                          const engine::CollectionConfig& config);
  void remove_archives(const ClusterState& state, const std::vector<std::string>& archives);
  [[nodiscard]] Result<std::string> answer_restore(std::string_view message);
  [[nodiscard]] std::shared_ptr<Run> begin_run(const std::string& id, const std::string& name,
                                               const std::string& peer) QV_REQUIRES(runs_mutex_);
  void forget_old_runs() QV_REQUIRES(runs_mutex_);
  [[nodiscard]] bool is_restoring(const std::string& id) const QV_EXCLUDES(runs_mutex_);
  void stop_runs() QV_EXCLUDES(runs_mutex_);
  [[nodiscard]] Result<> restore(const std::string& id, const std::string& name,
                                 const std::string& peer);
  [[nodiscard]] Result<> restore_marked(const std::string& id, const std::string& name,
                                        const std::string& peer);
  [[nodiscard]] Result<> check_restoring() const;
  /// What a restored collection replaces, and the nodes that it is to be on.
  struct RestorePlace {
    std::string replaces;          ///< id of the collection; empty: none
    Revision set_revision = 0;     ///< of the set of its own that it has; 0: it has none
    std::optional<MemberSet> set;  ///< nullopt: all nodes
  };
  /// kInvalidArgument if the snapshot does not fit what it would replace.
  [[nodiscard]] Result<RestorePlace> restore_place(const std::string& name,
                                                   const engine::CollectionConfig& config);
  [[nodiscard]] static Result<engine::CollectionConfig> config_after_restore(
      const ClusterState& state, const std::string& name, engine::CollectionConfig found);
  [[nodiscard]] Result<std::set<NodeId>> spread_archive(const std::string& id,
                                                        const std::string& name,
                                                        const RestorePlace& place);
  [[nodiscard]] Result<> commit_restore(const std::string& name,
                                        const engine::CollectionConfig& config,
                                        const RestorePlace& place, Revision mark,
                                        const std::set<NodeId>& holders);
  [[nodiscard]] static Result<> check_holders(const MemberSet& set,
                                              const std::set<NodeId>& holders);
  [[nodiscard]] static std::set<engine::ShardName> shards_of(
      const engine::CollectionConfig& config);
  [[nodiscard]] Result<Transaction> restoring_change(
      const ClusterState& state, const std::string& name, const engine::CollectionConfig& config,
      const RestorePlace& place, std::map<engine::ShardName, engine::EntryId>& tails) const;
  [[nodiscard]] Result<std::optional<CollectionRecord>> read_record(const std::string& name);
  [[nodiscard]] Result<> remove_marks(const ClusterState& state);
  void thaw(const ClusterState& state);

  // The thread of the lease.
  void keep_lease();
  void renew_lease();
  /// Registers this node under a new lease.
  [[nodiscard]] Result<> take_lease();
  [[nodiscard]] Result<> put_alive(LeaseId lease);

  // The thread that looks at the ledger.
  void look_until_stopped();
  void look();
  /// Reads the state and publishes it.
  [[nodiscard]] Result<std::shared_ptr<const ClusterState>> read_state();
  /// kFailedPrecondition if the ledger is not that of this node's cluster, or has lost what this
  /// node knows: then it must change nothing here.
  [[nodiscard]] Result<> check_cluster(const ClusterState& state) const;
  [[nodiscard]] Result<> check_tails(
      const ClusterState& state,
      const std::map<engine::ShardName, engine::EntryNumber>& applied) const;
  [[nodiscard]] std::map<engine::ShardName, engine::EntryNumber> applied_here() const;
  /// From now on the data directory is of this cluster.
  [[nodiscard]] Result<> belong_to(const std::string& cluster);
  [[nodiscard]] Result<> found();

  // Leading: node_leads.cc. `id`: a placed collection; "": the cluster and what is not placed.
  /// What this node knows of its part in a group.
  struct Standing {
    std::optional<std::chrono::steady_clock::time_point> holds_key_since;  ///< and does not lead
    std::chrono::steady_clock::time_point next_campaign{};
    std::chrono::steady_clock::time_point advanced_at{};  ///< by entries, without having all
    std::chrono::steady_clock::time_point leaderless_since = std::chrono::steady_clock::now();
  };
  /// nullptr: a placed collection that this node has not led.
  [[nodiscard]] std::shared_ptr<Committer> committer_of(const std::string& cluster_id) const
      QV_EXCLUDES(groups_mutex_);
  [[nodiscard]] bool leads(const std::string& id) const;
  [[nodiscard]] std::shared_ptr<Committer> make_committer(const std::string& id)
      QV_EXCLUDES(groups_mutex_);
  /// Before the state is published: so no entry of a placed collection meets another group.
  void note_groups(const ClusterState& state) QV_EXCLUDES(groups_mutex_);
  void forget_groups(const ClusterState& state) QV_EXCLUDES(groups_mutex_);
  /// This node leads no placed collection any more.
  void follow_all() QV_EXCLUDES(groups_mutex_);
  /// Tails of the group's shards.
  [[nodiscard]] static std::map<engine::ShardName, engine::EntryId> tails_of(
      const ClusterState& state, const std::string& id);
  [[nodiscard]] static std::set<engine::ShardName> dropped_of(const ClusterState& state,
                                                              const std::string& id);
  [[nodiscard]] Result<> keep_group(const ClusterState& state, const std::string& id);
  [[nodiscard]] Result<> lead_group(const ClusterState& state, const std::string& id,
                                    Committer& committer);
  [[nodiscard]] Result<> campaign(const ClusterState& state, const std::string& id);
  [[nodiscard]] Result<> take_over(const ClusterState& state, const std::string& id);
  /// After it could not be used for too long: another node may do better.
  [[nodiscard]] Result<> give_up_key(const ClusterState& state, const std::string& id);
  /// Takes the leaders' keys from a process that is gone, before its lease runs out. Wrong guesses
  /// cost a change of the leader, nothing else: no entry of an older epoch can be committed.
  [[nodiscard]] Result<> depose_gone(const ClusterState& state);
  [[nodiscard]] Result<> depose(const ClusterState& state, NodeId leader,
                                const std::vector<std::string>& groups);
  void step_down(const std::string& id);

  // Placement of collections: node_placement.cc.
  [[nodiscard]] PlacementView view_of(const ClusterState& state, const std::string& name,
                                      const std::set<NodeId>& departing) const;
  [[nodiscard]] Result<> keep_members(const ClusterState& state, const std::string& id,
                                      Committer& committer);
  [[nodiscard]] Result<> promote_replica(const ClusterState& state, const std::string& id,
                                         NodeId joining, Committer& committer);
  [[nodiscard]] Result<> remove_replica(const ClusterState& state, const std::string& id,
                                        NodeId leaving, Committer& committer);
  [[nodiscard]] Result<bool> has_all(
      const NodeAddress& address, const std::map<engine::ShardName, engine::EntryId>& tails) const;
  [[nodiscard]] bool has_all_here(const std::map<engine::ShardName, engine::EntryId>& tails) const;
  /// kUnavailable, with the numbers, unless each entry of `tails` is on a majority of `set`.
  [[nodiscard]] Result<> majority_has_all(
      const ClusterState& state, const MemberSet& set,
      const std::map<engine::ShardName, engine::EntryId>& tails) const;
  [[nodiscard]] Result<bool> has_seen(const NodeAddress& address, Revision revision) const;
  [[nodiscard]] Result<> change_group(const ClusterState& state, const std::string& id,
                                      const MemberSet& set);
  /// True once no change is on its way. Changes wait for another leader meanwhile.
  [[nodiscard]] bool is_ready_to_hand_over(const std::string& id, const Committer& committer);
  [[nodiscard]] bool is_handing_over(const std::string& id) const QV_EXCLUDES(mutex_);
  void set_handing_over(const std::string& id, bool is_handing_over) QV_EXCLUDES(mutex_);
  void wake_nodes();
  /// True if the rows of a collection that has moved away may be dropped: requests that came
  /// before are over.
  [[nodiscard]] bool is_gone_long(const std::string& id);

  // Nodes that drain or are removed: node_drain.cc.
  void note_away(const ClusterState& state) QV_EXCLUDES(mutex_);
  [[nodiscard]] AwayTimes away_times() const QV_EXCLUDES(mutex_);
  [[nodiscard]] std::set<NodeId> departing(const ClusterState& state) const QV_EXCLUDES(mutex_);
  void plan_move(const ClusterState& state, const std::string& id, MemberSet& set);
  [[nodiscard]] Result<bool> hand_over(const ClusterState& state, const std::string& id,
                                       Committer& committer);
  /// True if another node that may lead the group has all of `tails`.
  [[nodiscard]] Result<bool> has_heir_with(
      const ClusterState& state, const GroupState& group,
      const std::map<engine::ShardName, engine::EntryId>& tails) const;
  [[nodiscard]] Result<bool> try_to_remove(const ClusterState& state, NodeId node,
                                           Result<>& trouble);

  /// The lease that `alive` is bound to may have run out (the answer to an earlier write was lost).
  [[nodiscard]] Result<> repeat_alive(const ClusterState& state);
  /// Reads the state and makes the local catalog the same.
  [[nodiscard]] Result<std::shared_ptr<const ClusterState>> adopt_catalog(Result<>& trouble);

  // Copies of collections from other nodes: node_copies.cc.
  [[nodiscard]] Result<> copy_collection(const ClusterState& state, const std::string& id,
                                         const std::string& reason);
  /// May take long.
  [[nodiscard]] Result<> receive_collection(const std::string& name, const std::string& id,
                                            const std::string& peer);
  [[nodiscard]] std::map<NodeId, NodeAddress>::const_iterator source_of_copy(
      const ClusterState& state, const std::string& id) const;
  [[nodiscard]] bool is_copying(const ClusterState& state, const std::string& id) const;
  [[nodiscard]] static bool comes_as_copy(const ClusterState& state,
                                          const engine::CollectionConfig& config);

  /// A leader's entry may be committed and about to be applied.
  [[nodiscard]] bool is_behind(const engine::ShardName& shard, const engine::EntryId& tail,
                               const std::string& id);
  [[nodiscard]] Result<> adopt_collection(const ClusterState& state, const std::string& name,
                                          const CollectionRecord& record);
  [[nodiscard]] Result<> replace_misfits(const ClusterState& state);
  [[nodiscard]] Result<> adopt_aliases(const ClusterState& state);
  /// False for a placed collection that is on other nodes only.
  [[nodiscard]] bool is_held_here(const ClusterState& state, const CollectionRecord& record) const;
  [[nodiscard]] Result<> drop_others(const ClusterState& state);
  [[nodiscard]] Result<> adopt_collections(const ClusterState& state);
  /// The first error; every shard of the group is tried.
  [[nodiscard]] Result<> catch_up(const ClusterState& state, const std::string& id);
  [[nodiscard]] Result<> admit_members(const ClusterState& state);
  [[nodiscard]] Result<> promote(const ClusterState& state, NodeId joining);
  [[nodiscard]] Result<> change_set(const MemberSet& set, Revision known);
  [[nodiscard]] Result<> trim(const ClusterState& state, const std::string& id,
                              const Committer& committer);
  [[nodiscard]] Result<> remove_log(const engine::ShardName& shard, const std::string& id,
                                    const Committer& committer);
  void trim_here(const ClusterState& state);

  [[nodiscard]] Result<std::string> store_bodies(std::string_view message);
  [[nodiscard]] Result<std::string> apply_committed(std::string_view message);
  [[nodiscard]] Result<std::string> get_body(std::string_view message);
  [[nodiscard]] Result<std::string> get_applied(std::string_view message);

  [[nodiscard]] Result<> wait_until_applied(const engine::ShardName& shard,
                                            engine::EntryNumber wanted,
                                            std::chrono::steady_clock::time_point deadline);

  [[nodiscard]] Result<> check_not_stopping() const QV_EXCLUDES(mutex_);
  void wake();
  [[nodiscard]] std::string cluster_id() const QV_EXCLUDES(mutex_);

  const NodeOptions options_;
  const NodeId self_;
  const Keys keys_;
  Ledger& ledger_;
  PeerClient& peers_;
  AnswerTimes answer_times_;
  HedgedReads hedged_;
  engine::Database* local_ = nullptr;
  Mutex catalog_mutex_;
  std::unique_ptr<ClusterDatabase> database_;
  Published<ClusterState> state_;
  Replicas replicas_;
  const std::shared_ptr<Committer> committer_;  ///< of the cluster's group
  mutable Mutex groups_mutex_;
  /// Of placed collections, by `cluster_id`; nullptr until this node leads it.
  std::map<std::string, std::shared_ptr<Committer>> committers_ QV_GUARDED_BY(groups_mutex_);
  CopySource copies_;
  Restores restores_;
  Mutex restore_mutex_;  ///< held during a restore, by the leader; taken before `catalog_mutex_`
  mutable Mutex runs_mutex_;
  CondVar runs_changed_;
  bool is_stopping_runs_ QV_GUARDED_BY(runs_mutex_) = false;
  std::map<std::string, std::shared_ptr<Run>> runs_ QV_GUARDED_BY(runs_mutex_);

  std::atomic<LeaseId> lease_ = 0;
  std::atomic<Revision> adopted_catalog_ = 0;    ///< `catalog_revision` of what was adopted last
  std::atomic<std::int64_t> last_heard_ms_ = 0;  ///< of the steady clock; 0: never
  std::atomic<bool> is_ledger_up_ = false;
  std::atomic<std::uint64_t> ledger_term_ = 0;

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopped_ QV_GUARDED_BY(mutex_) = false;
  std::string cluster_id_ QV_GUARDED_BY(mutex_);
  std::set<std::string> handing_over_ QV_GUARDED_BY(mutex_);  ///< placed collections
  /// A spread collection that was asked for, and the `cluster_id`s of its parts.
  struct Spread {
    std::vector<std::string> ids;
    std::shared_ptr<engine::Collection> collection;
  };
  std::map<std::string, Spread> spread_ QV_GUARDED_BY(mutex_);  ///< by name
  struct Wanted {
    engine::EntryNumber number = 0;
    std::chrono::steady_clock::time_point until;  ///< reads that begin later need not show it
  };
  /// Of parts: the newest entry that each read shows, by `cluster_id`.
  std::map<std::string, Wanted> wanted_ QV_GUARDED_BY(mutex_);
  /// When copies that failed are tried again, by `cluster_id`.
  std::map<std::string, std::chrono::steady_clock::time_point> next_copy_ QV_GUARDED_BY(mutex_);
  std::set<std::string> following_ QV_GUARDED_BY(mutex_);  ///< parts that get a configuration
  std::string refusal_ QV_GUARDED_BY(mutex_);              ///< of `check_cluster`
  /// Members that were not alive at each look since then.
  std::map<NodeId, std::chrono::steady_clock::time_point> away_since_ QV_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point away_noted_at_ QV_GUARDED_BY(mutex_);
  std::uint64_t n_wanted_ QV_GUARDED_BY(mutex_) = 1;          ///< looks asked for
  std::uint64_t n_looked_ QV_GUARDED_BY(mutex_) = 0;          ///< the last one that is over
  std::map<engine::ShardName, engine::EntryNumber> trimmed_;  ///< of the looking thread
  /// Shards of a leader that had not applied their newest entry at the last look.
  std::map<engine::ShardName, engine::EntryNumber> behind_;
  std::map<NodeId, int> n_unanswered_;  ///< calls to leaders, one after another
  std::map<NodeId, std::chrono::steady_clock::time_point> next_deposing_;
  std::map<std::string, Standing> standings_;
  std::set<NodeId> departing_;  ///< at this look
  /// Since when this node is not to hold placed collections that it holds.
  std::map<std::string, std::chrono::steady_clock::time_point> gone_since_;
  /// Ids of collections whose configuration could not be adopted at this look.
  std::set<std::string> misfits_;
  std::chrono::steady_clock::time_point next_replacing_{};
  std::size_t n_copies_ = 0;   ///< begun; of the looking thread
  Background copying_{2};      ///< copies that this node gets, by `cluster_id`
  std::string last_trouble_;   ///< of the looking thread
  std::string lease_refusal_;  ///< of the thread of the lease
  Executor part_executor_;     ///< its threads wait for other nodes, about parts of collections
  std::thread lease_thread_;
  std::thread look_thread_;
};

}  // namespace quiver::cluster

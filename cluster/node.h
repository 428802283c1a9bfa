// This process as one node of a cluster: who leads, what is replicated, what others ask of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model/config.h"

namespace quiver::engine {
class Database;
class Replication;
}  // namespace quiver::engine

namespace quiver::cluster {

class Ledger;

/// The verb of messages that wait for replication: they need threads of their own.
inline constexpr std::string_view kPartCallVerb = "part";

using NodeId = std::uint64_t;  ///< random, below 2^63; the API's peer_id

/// Where a node is reached.
struct NodeAddress {
  std::string peer;  ///< "host:port" of the peer API
  std::string http;  ///< "http://host:port" or "https://…" of the public API
  bool operator==(const NodeAddress&) const = default;
};

struct NodeOptions {
  std::string cluster_name = "quiver";
  std::string data_dir;
  NodeAddress address;
  std::uint32_t n_nodes = 3;  ///< a majority of these must have an entry before it counts
  std::chrono::seconds lease{3};
  std::chrono::milliseconds apply_timeout{2000};  ///< a replica that takes longer is not waited for
  /// A change that is surely not in the ledger after this time is refused.
  std::chrono::milliseconds commit_timeout{5000};
  std::uint64_t log_keep_entries = 10'000;
  /// A placed collection whose node is away for so long gets a copy on another one; 0: never.
  std::chrono::milliseconds replace_after{0};
};

/// Sends a message to another node and waits for the answer. kUnavailable if the node cannot be
/// reached; an error of the other node keeps its code and text. Thread-safe.
class PeerClient {
 public:
  virtual ~PeerClient() = default;
  /// `peer`: "host:port".
  [[nodiscard]] virtual Result<std::string> call(const std::string& peer, std::string_view verb,
                                                 std::string_view body) = 0;
};

/// How far a node is that gives up what it holds.
struct DrainView {
  std::uint32_t n_collections = 0;  ///< placed collections that it still has
  bool is_done = false;             ///< the node may be stopped
  std::string trouble = {};         ///< what is missing; empty: nothing
};

/// What users are told of the cluster.
struct NodeView {
  struct Member {
    NodeId id = 0;
    NodeAddress address;
    bool is_alive = false;
    bool is_active = false;         ///< counts for the majority
    std::uint64_t lag_entries = 0;  ///< known to the leader only: entries not yet applied there
    std::optional<DrainView> drain = {};  ///< nullopt: it is not draining
  };
  NodeId self = 0;
  NodeId leader = 0;  ///< 0: none now
  std::int64_t epoch = 0;
  std::uint32_t n_nodes = 0;
  std::uint32_t write_quorum = 0;
  bool is_ledger_up = false;
  double stale_s = 0;   ///< since the ledger was last heard
  double lease_s = 0;   ///< after this time without the ledger another node may lead
  std::string refusal;  ///< why this node takes no part; empty: it does
  std::int64_t ledger_revision = 0;
  std::uint64_t ledger_term = 0;
  std::uint64_t n_pending = 0;  ///< entries that wait for their commit
  std::vector<Member> members;  ///< by id
  // Placed collections, as the ledger says.
  std::uint32_t n_held = 0;  ///< that this node has
  std::uint32_t n_led = 0;   ///< that this node leads
  // As every node of the cluster says:
  std::uint32_t n_moving = 0;            ///< a copy is made, or a node gives one up
  std::uint32_t n_under_replicated = 0;  ///< fewer copies on nodes that are alive than wanted
};

/// A collection that is on some nodes only, as the ledger says.
struct PlacementView {
  enum class State : std::uint8_t { kJoining, kActive, kLeaving };
  struct Replica {
    NodeId id = 0;
    NodeAddress address;
    bool is_alive = false;
    State state = State::kJoining;
    NodeId replaces = 0;  ///< joining: the one that leaves for it; 0: none
  };
  std::string name;        ///< of the collection, or of a shard with nodes of its own
  std::string collection;  ///< as users know it
  std::optional<std::uint32_t> shard = {};  ///< the one that it is; nullopt: all
  engine::CollectionConfig config = {};
  std::uint32_t factor = 0;  ///< copies that it is to have
  std::uint32_t write_quorum = 0;
  NodeId leader = 0;  ///< 0: none now
  std::int64_t epoch = 0;
  std::vector<Replica> replicas;  ///< by id
  std::string trouble = {};       ///< why a copy cannot move away; empty: it can, or need not
};

/// Which nodes answer reads of a collection that is on some nodes only.
struct Holders {
  bool is_here = false;             ///< this one does
  std::vector<NodeAddress> others;  ///< in the order to ask them: alive first, of these fast ones
  /// The first one may be late: after this time the next is asked, too.
  std::optional<std::chrono::nanoseconds> patience = {};
};

/// A change of the nodes that hold a collection. All its shards move together.
struct ReplicaChange {
  enum class Kind : std::uint8_t { kReplicate, kMove, kDrop, kAbort };
  Kind kind = Kind::kReplicate;
  NodeId from = 0;  ///< kMove, kDrop: who gives it up
  NodeId to = 0;    ///< kReplicate, kMove: who gets it; kAbort: 0: whoever does
};

/// How a node is taken out of the cluster.
enum class Removal : std::uint8_t {
  kEmpty,   ///< only if it has no placed collection
  kForced,  ///< also if it is gone, and every collection that it has is on other nodes, too
};

/// Thread-safe. Made before the database, which asks it what counts, and started with it.
class Node {
 public:
  /// `ledger` and `peers` outlive the node. Reads or makes the file `node` in the data directory.
  [[nodiscard]] static Result<std::unique_ptr<Node>> make(NodeOptions options, Ledger& ledger,
                                                          PeerClient& peers);
  virtual ~Node() = default;

  /// For `engine::DatabaseOptions::replication`.
  [[nodiscard]] virtual engine::Replication& replication() = 0;
  /// Joins the cluster. Returns at once; the node serves reads while the ledger is away. `local`
  /// outlives the node's work, which `stop` ends.
  virtual Result<> start(engine::Database& local) = 0;
  /// The database as the API sees it: its changes are made through the ledger. After `start`.
  [[nodiscard]] virtual engine::Database& database() = 0;

  /// Where changes go: nullopt if this node leads. kUnavailable, with the reason, if nobody is
  /// known to lead.
  [[nodiscard]] virtual Result<std::optional<NodeAddress>> leader() const = 0;
  /// Where changes of a collection go, by name or alias. As `leader` unless it is placed.
  [[nodiscard]] virtual Result<std::optional<NodeAddress>> leader_of(
      std::string_view collection) const {
    (void)collection;
    return leader();
  }
  /// False: `holders` knows nothing of any collection.
  [[nodiscard]] virtual bool has_placements() const { return false; }
  /// nullopt: this node answers, as all nodes hold the collection, or there is none.
  [[nodiscard]] virtual std::optional<Holders> holders(std::string_view collection) const {
    (void)collection;
    return std::nullopt;
  }
  /// Asks the nodes of `holders` in their order, and the next one beside the others if one is late,
  /// until `ask` returns true; false: it never did. `ask` keeps the answer, may be called on other
  /// threads, and may go on afterwards, until `stop`.
  virtual bool ask_holders(const Holders& holders,
                           const std::function<bool(const NodeAddress&)>& ask) {
    return std::ranges::any_of(holders.others, ask);
  }
  /// A read is sent to `node`, one of the `holders`.
  virtual void note_question(const NodeAddress& node) { (void)node; }
  /// It took this time; nullopt: no answer, or an error of the node.
  virtual void note_answer(const NodeAddress& node, std::optional<std::chrono::nanoseconds> took) {
    (void)node, (void)took;
  }
  /// Collections that are on some nodes only, by name.
  [[nodiscard]] virtual std::vector<PlacementView> placements() const { return {}; }
  /// By name or alias; nullopt: all nodes hold it, or there is none.
  [[nodiscard]] virtual std::optional<PlacementView> placement(std::string_view collection) const {
    (void)collection;
    return std::nullopt;
  }
  /// The shards of a collection that have nodes of their own, in order; empty: they have none, or
  /// there is no such collection.
  [[nodiscard]] virtual std::vector<PlacementView> part_placements(
      std::string_view collection) const {
    (void)collection;
    return {};
  }
  /// As `change_replicas`, of a shard that has nodes of its own. On any node.
  [[nodiscard]] virtual Result<> change_part_replicas(const std::string& part,
                                                      const ReplicaChange& change) {
    (void)change;
    return fail(Code::kUnimplemented, "moving shard " + part);
  }
  /// Begins a change, on the node that leads the collection; it goes on in the background.
  [[nodiscard]] virtual Result<> change_replicas(std::string_view collection,
                                                 const ReplicaChange& change) {
    (void)change;
    return fail(Code::kUnimplemented, "moving collection " + std::string(collection));
  }
  /// The node's placed collections move to others from now on, and what it leads is led by others.
  /// On the node that leads the cluster, as the next two. kNotFound: there is no such node.
  [[nodiscard]] virtual Result<> drain(NodeId node) {
    return fail(Code::kUnimplemented, "draining node " + std::to_string(node));
  }
  /// Moves that have begun go on.
  [[nodiscard]] virtual Result<> end_drain(NodeId node) {
    return fail(Code::kUnimplemented, "draining node " + std::to_string(node));
  }
  /// Takes the node out of the set for good. kFailedPrecondition, with what it still has or leads.
  [[nodiscard]] virtual Result<> remove(NodeId node, Removal removal) {
    (void)removal;
    return fail(Code::kUnimplemented, "removing node " + std::to_string(node));
  }
  /// Returns once this node shows all that was committed before the call (linearizable reads). The
  /// ledger is asked. kUnavailable: it does not answer, or this node does not have all by
  /// `deadline`.
  /// `collection`: name or alias; of the others only that they exist is waited for.
  [[nodiscard]] virtual Result<> wait_until_fresh(
      std::string_view collection, std::chrono::steady_clock::time_point deadline) = 0;
  [[nodiscard]] virtual NodeView view() const = 0;
  /// Answers a message of another node. May take seconds.
  [[nodiscard]] virtual Result<std::string> answer(std::string_view verb,
                                                   std::string_view body) = 0;
  /// Gives up leadership, ends replication. Called before the database is closed.
  virtual void stop() = 0;
};

/// Tells a node how long another one, of the holders of a collection, takes to answer a read.
class ReadTimer {
 public:
  /// Before the read is sent. `node` and `asked` outlive this.
  ReadTimer(Node& node, const NodeAddress& asked) : node_(node), asked_(asked) {
    node_.note_question(asked_);
  }
  /// Without `end`: there was no answer.
  ~ReadTimer() {
    if (!is_over_) node_.note_answer(asked_, std::nullopt);
  }
  ReadTimer(const ReadTimer&) = delete;
  ReadTimer& operator=(const ReadTimer&) = delete;
  /// `is_good`: there is an answer, and it is no error of the node that was asked.
  void end(bool is_good) {
    std::optional<std::chrono::nanoseconds> took;
    if (is_good) took = std::chrono::steady_clock::now() - began_;
    node_.note_answer(asked_, took);
    is_over_ = true;
  }

 private:
  Node& node_;
  const NodeAddress& asked_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool is_over_ = false;
};

}  // namespace quiver::cluster

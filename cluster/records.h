// What stands in the ledger: keys, and values as JSON. docs/formats/ledger.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/ledger/ledger.h"
#include "cluster/node.h"
#include "engine/model/part_name.h"
#include "engine/model/replication.h"

namespace quiver::cluster {

/// Keys of one cluster. All that describes its state lies under one prefix, so that one range shows
/// it at one moment; headers of entries lie beside it.
class Keys {
 public:
  explicit Keys(std::string_view cluster_name);

  [[nodiscard]] const std::string& state() const { return state_; }
  [[nodiscard]] std::string set() const { return state_ + "set"; }
  [[nodiscard]] std::string leader() const { return state_ + "leader"; }
  /// Of the nodes that hold the collection, if it is placed. "": of the whole cluster.
  [[nodiscard]] std::string set(std::string_view cluster_id) const;
  [[nodiscard]] std::string leader(std::string_view cluster_id) const;
  [[nodiscard]] std::string aliases() const { return state_ + "aliases"; }
  [[nodiscard]] std::string alive(NodeId node) const;
  /// Of a node whose placed collections move to others.
  [[nodiscard]] std::string draining(NodeId node) const;
  /// Of a node that was a member, and never is one again.
  [[nodiscard]] std::string removed(NodeId node) const;
  [[nodiscard]] std::string collection(std::string_view name) const;
  /// Name of the collection that a snapshot is being restored as; gone with the leader's lease.
  [[nodiscard]] std::string restore(std::string_view cluster_id) const;
  /// Number and hash of the newest entry.
  [[nodiscard]] std::string tail(const engine::ShardName& shard) const;
  /// The first entry whose header and body are kept.
  [[nodiscard]] std::string base(const engine::ShardName& shard) const;
  [[nodiscard]] std::string tails_of(std::string_view cluster_id) const;
  [[nodiscard]] std::string bases_of(std::string_view cluster_id) const;
  [[nodiscard]] std::string header(const engine::ShardName& shard,
                                   engine::EntryNumber number) const;
  [[nodiscard]] std::string headers_of(std::string_view cluster_id) const;
  [[nodiscard]] std::string headers_of(const engine::ShardName& shard) const;

 private:
  std::string state_;
  std::string log_;
};

enum class MemberState : std::uint8_t {
  kJoining,  ///< gets entries, does not count for the majority
  kActive,
  kLeaving,  ///< counts as an active one until it is removed, answers no reads
};

/// The nodes that count, and how many there are to be.
struct MemberSet {
  std::string cluster;  ///< random id, which no other cluster ever has
  struct Member {
    NodeAddress address;
    MemberState state = MemberState::kJoining;
    NodeId replaces = 0;  ///< joining: the member that leaves once this one counts; 0: none
    bool operator==(const Member&) const = default;
  };
  std::uint32_t n_nodes = 0;
  std::map<NodeId, Member> members;

  /// While more than `n_nodes` count, a majority of those.
  [[nodiscard]] std::uint32_t quorum() const;
  /// True if the node counts: it is active or leaving.
  [[nodiscard]] bool is_active(NodeId node) const;
  [[nodiscard]] bool answers_reads(NodeId node) const;
  [[nodiscard]] std::uint32_t n_active() const;
  /// The one that joins or leaves; 0: none.
  [[nodiscard]] NodeId find(MemberState state) const;
  bool operator==(const MemberSet&) const = default;
};

/// What the ledger says of an entry. The body is on the nodes that stored it.
struct Header {
  engine::EntryId id;
  std::int64_t epoch = 0;
  std::uint64_t last_seq = 0;
  std::uint64_t n_bytes = 0;
  std::vector<NodeId> holders;
};

/// A spread collection is in parts, each a placed collection. docs/decisions/0076.
inline constexpr std::uint32_t kMaxParts = 16;  ///< a transaction of etcd has room for so many
using engine::parse_part_name;
using engine::part_name;
using engine::PartName;

struct CollectionRecord {
  engine::CollectionConfig config;
  Revision revision = 0;
};

/// Nodes that hold the same collections, and the one of them that leads.
struct GroupState {
  std::optional<MemberSet> set;
  Revision set_revision = 0;
  NodeId leader = 0;  ///< 0: nobody
  LeaseId leader_lease = 0;
  std::int64_t epoch = 0;  ///< of the leader

  /// True if the node holds what the group holds, or is to.
  [[nodiscard]] bool has(NodeId node) const { return set && set->members.contains(node); }
};

/// All state keys at one revision. As a group: all nodes, and the collections that are not placed.
struct ClusterState : GroupState {
  Revision revision = 0;
  std::map<NodeId, NodeAddress> alive;
  std::map<NodeId, LeaseId> alive_leases;
  /// Nodes whose version knows that collections may be on some nodes only.
  std::set<NodeId> can_place;
  /// By node: the version of the messages about parts that it knows.
  std::map<NodeId, std::uint64_t> part_calls;
  /// Nodes that are to give up what they hold and lead, so that they can be stopped.
  std::set<NodeId> draining;
  /// Nodes that were taken out of the set for good.
  std::set<NodeId> removed;
  /// By `cluster_id`: collections that are on some nodes only, each with a group of its own.
  std::map<std::string, GroupState, std::less<>> placed;
  std::map<std::string, CollectionRecord> collections;
  std::map<std::string, std::string> aliases;  ///< alias to collection
  Revision aliases_revision = 0;
  std::map<engine::ShardName, engine::EntryId> tails;  ///< of shards that exist
  /// Shards whose collection or key is dropped. What is on its way then may leave a tail and
  /// headers.
  std::set<engine::ShardName> dropped;
  std::map<engine::ShardName, engine::EntryNumber> bases;

  std::map<std::string, std::string> restores;  ///< id of the collection to come, to its name

  [[nodiscard]] bool is_placed(std::string_view cluster_id) const {
    return placed.contains(cluster_id);
  }
  /// Of a placed collection, else of the cluster.
  [[nodiscard]] const GroupState& group_of(std::string_view cluster_id) const;
  /// The collection, by name or alias; nullptr if there is none.
  [[nodiscard]] const std::pair<const std::string, CollectionRecord>* find(
      std::string_view name_or_alias) const;

  /// The collection that is meant, which there need not be.
  [[nodiscard]] std::string resolve(std::string_view name_or_alias) const;
  /// Number of parts of a spread collection, by name or alias; 0: it is none.
  [[nodiscard]] std::uint32_t n_parts(std::string_view name_or_alias) const;
  /// nullopt: `name` is no part of a spread collection.
  [[nodiscard]] std::optional<engine::PartOf> part_of(std::string_view name) const;
  /// Whole or in parts; no alias.
  [[nodiscard]] bool has_collection(const std::string& name) const {
    return collections.contains(name) || collections.contains(part_name(name, 0));
  }

  /// True if the log of the collection has no beginning any more, or never had: a node without the
  /// collection needs a copy of it.
  [[nodiscard]] bool needs_copy(const engine::CollectionConfig& config) const;
  /// Name of the collection; nullptr if there is none.
  [[nodiscard]] const std::string* name_of(std::string_view cluster_id) const;
  /// When collections or aliases were last changed. (A drop writes the aliases, too.)
  [[nodiscard]] Revision catalog_revision() const;
};

/// kDataLoss, naming the key, if a value is not what it should be.
[[nodiscard]] Result<ClusterState> parse_state(const Keys& keys, const RangeAnswer& answer);

[[nodiscard]] std::string encode_set(const MemberSet& set);
/// Of a node that is alive; it says that this version knows placed collections.
[[nodiscard]] std::string encode_address(const NodeAddress& address);
[[nodiscard]] std::optional<NodeAddress> decode_address(std::string_view text);
[[nodiscard]] std::string encode_header(const Header& header);
/// `key`: ends with the number.
[[nodiscard]] Result<Header> decode_header(std::string_view key, std::string_view value);
[[nodiscard]] std::string encode_tail(const engine::EntryId& id);
[[nodiscard]] std::string encode_aliases(const std::map<std::string, std::string>& aliases);

}  // namespace quiver::cluster

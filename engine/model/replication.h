// What an engine and the cluster that it is a part of ask of each other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "engine/model/config.h"

namespace quiver::engine {

/// A shard of a collection, on every node.
struct ShardName {
  std::string collection;  ///< its `cluster_id`, which no other collection ever has
  std::uint32_t shard = 0;
  auto operator<=>(const ShardName&) const = default;
};

/// The place of an entry in the log of its shard; the first is 1. 0: none.
using EntryNumber = std::uint64_t;

struct EntryId {
  EntryNumber number = 0;
  std::string hash;  ///< of the body; kEntryHashBytes
  bool operator==(const EntryId&) const = default;
};
inline constexpr std::size_t kEntryHashBytes = 16;

/// A group of changes on its way to be committed.
struct Entry {
  EntryId id;
  Seq first{};
  Seq last{};
  std::string body;  ///< docs/formats/log-entry.md
};

/// What a shard asks of the cluster. Thread-safe. Outlives the shards.
class Replication {
 public:
  using Done = std::function<void(Result<>)>;

  virtual ~Replication() = default;

  /// kUnavailable, naming the node that leads the collection, unless this one does.
  [[nodiscard]] virtual Result<> check_leads(const std::string& cluster_id) const = 0;
  /// Makes the entry count, all or nothing; this node has stored the body. Calls `done` once, from
  /// any thread. If an error says that the outcome is not known, the entry may count all the same:
  /// then it comes back as a committed one.
  virtual void commit(const ShardName& shard, std::shared_ptr<const Entry> entry,
                      Done done) noexcept = 0;
  /// For requests that change nothing: calls `done` once, with success if this node still leads the
  /// collection and so nothing of another leader is missing here. The ledger is asked.
  virtual void confirm_leads(const std::string& cluster_id, Done done) noexcept = 0;
  /// Makes a configuration that was made of `base` count for all nodes. kUnavailable if the ledger
  /// has another one than `base`.
  [[nodiscard]] virtual Result<> commit_config(const std::string& name,
                                               const CollectionConfig& base,
                                               const CollectionConfig& config) = 0;
  /// Calls `then` when the other nodes have applied what was committed of the collection before
  /// this call, or do not in time.
  virtual void when_replicas_applied(const std::string& cluster_id,
                                     std::function<void()> then) noexcept = 0;
};

/// `Replication::confirm_leads`, and waits for its outcome.
[[nodiscard]] Result<> wait_for_confirmed_lead(Replication& replication,
                                               const std::string& cluster_id);

/// What the cluster asks of a shard on this node. Thread-safe.
class Replica {
 public:
  virtual ~Replica() = default;

  /// The number of the last entry applied and visible.
  [[nodiscard]] virtual EntryNumber applied() const = 0;
  /// Durable on return. kInvalidArgument if `body` has another hash.
  [[nodiscard]] virtual Result<> store_body(const EntryId& id, std::string_view body) = 0;
  /// nullopt if it is not here. kDataLoss if it is damaged.
  [[nodiscard]] virtual Result<std::optional<std::string>> body(const EntryId& id) const = 0;
  /// Applies a committed entry whose body is stored here. `done` is called once it is visible; with
  /// kFailedPrecondition if it does not follow the last one. An error is returned at once if it
  /// cannot be queued.
  [[nodiscard]] virtual Result<> apply(EntryNumber number, std::string_view body,
                                       std::function<void(Result<>)> done) = 0;
  /// Removes the bodies of entries before `first_kept`.
  [[nodiscard]] virtual Result<> trim(EntryNumber first_kept) = 0;
};

}  // namespace quiver::engine

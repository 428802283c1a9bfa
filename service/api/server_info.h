// Verbs about the server itself: whether it is ready, its metrics, and telemetry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/observe/machine.h"
#include "base/observe/memory.h"
#include "cluster/node.h"
#include "engine/model/reports.h"
#include "service/api/call.h"
#include "service/api/collections.h"
#include "service/api/options.h"

namespace quiver::service::api {

struct Readiness {
  bool is_ready = false;
  std::string reason;  ///< why it is not ready, if known
};
void readiness(Call& call, Done<Readiness> done);

/// All metrics in Prometheus' text format.
void metrics(Call& call, Done<std::string> done);

struct CollectionTelemetry {
  std::string name;
  engine::CollectionInfo info;
  std::vector<engine::ShardInfo> shards;
};

/// What the server reports about itself.
struct Telemetry {
  std::string process_id;          ///< a UUID
  std::int64_t started_at_ms = 0;  ///< since the epoch
  Identity identity;
  MachineFacts machine;
  MemoryFacts memory;
  std::size_t n_compute_threads = 0;
  bool has_devices = false;  ///< that can do something
  std::size_t n_collections = 0;
  std::vector<CollectionTelemetry> collections;  ///< the open ones, by name
};

/// The shards of a collection. They are on this server, and on every other node, unless the
/// collection is placed.
struct ShardSizes {
  struct Shard {
    std::uint32_t number = 0;
    std::optional<engine::ShardKey> key;
    std::uint64_t n_points = 0;
    /// Of it, or of the whole collection; nullptr: on all nodes.
    std::shared_ptr<const cluster::PlacementView> placement = nullptr;
  };
  std::uint64_t peer_id = 0;
  std::vector<Shard> shards;
  std::optional<cluster::NodeView> cluster;  ///< nullopt: the server is alone
  bool is_alone = false;   ///< the server is a node, and the collection is no part of the cluster
  bool is_spread = false;  ///< shards have nodes of their own
};
/// The id of the node. Of a server that is alone, the number until it ends; below 2^53.
[[nodiscard]] std::uint64_t peer_id(const Call& call);
[[nodiscard]] Result<ShardSizes> shard_sizes(Call& call, const OpenCollection& target);
/// Of a collection that this node does not have, or not yet; no points are counted. nullopt: it is
/// here, or there is none.
[[nodiscard]] Result<std::optional<ShardSizes>> shards_elsewhere(Call& call,
                                                                 const std::string& collection);

/// What a collection consists of. Takes time as `TelemetryParts::shards` does.
struct CollectionParts {
  std::vector<engine::ShardInfo> shards;
  std::shared_ptr<const engine::CollectionConfig> config;
};
[[nodiscard]] Result<CollectionParts> collection_parts(Call& call, const OpenCollection& target);

/// Which parts of `Telemetry` are filled.
struct TelemetryParts {
  bool machine = false;      ///< `machine` and `memory`
  bool collections = false;  ///< `collections`
  /// `shards` of collections. Takes time in proportion to deleted rows and indexed payload values.
  bool shards = false;
};
/// Opens no collection; tells only of those that the caller may read.
void telemetry(Call& call, const TelemetryParts& parts, Done<Telemetry> done);

}  // namespace quiver::service::api

#include "service/api/server_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "engine/collection.h"
#include "engine/model/part_name.h"
#include "gpu/devices.h"
#include "service/api/answer.h"
#include "service/api/cluster_info.h"

namespace quiver::service::api {
namespace {

/// Those that the caller may read.
std::vector<CollectionTelemetry> open_collections_of(const Call& call, bool with_shards) {
  std::vector<CollectionTelemetry> all;
  for (const auto& [name, collection] : call.runtime().database().open_collections()) {
    const auto part = engine::parse_part_name(name);  // a shard with nodes of its own
    if (!call.principal().can_read(part ? part->collection : name)) continue;
    auto& one = all.emplace_back();
    one.name = name;
    one.info = collection->info();
    if (with_shards) one.shards = collection->shards();
  }
  return all;
}

Telemetry read_telemetry(const Call& call, const TelemetryParts& parts) {
  const Runtime& runtime = call.runtime();
  Telemetry telemetry;
  telemetry.process_id = runtime.process_id();
  telemetry.started_at_ms = runtime.started_at_ms();
  telemetry.identity = runtime.options().identity;
  telemetry.n_compute_threads = runtime.compute().n_threads();
  const gpu::Devices* devices = runtime.options().devices;
  telemetry.has_devices = devices != nullptr && devices->is_useful();
  const auto names = runtime.database().collection_names();
  telemetry.n_collections = static_cast<std::size_t>(
      std::count_if(names.begin(), names.end(),
                    [&](const std::string& name) { return call.principal().can_read(name); }));
  if (parts.machine && call.check_access(Access::kGlobalRead)) {
    telemetry.machine = read_machine();
    telemetry.memory = read_memory();
  }
  if (parts.collections) {
    telemetry.collections = open_collections_of(call, parts.shards);
  }
  return telemetry;
}

/// Why reads should go to another node: this one may hold old data, or none yet. Empty: no reason.
std::string absence_from_cluster(const Runtime& runtime) {
  const cluster::Node* node = runtime.options().cluster.node;
  if (node == nullptr) return "";
  const cluster::NodeView view = node->view();
  if (!view.refusal.empty()) return view.refusal;
  if (view.ledger_revision == 0) {
    return "this node has not reached the ledger of its cluster yet";
  }
  if (view.stale_s > view.lease_s) {
    return fmt::format("the ledger of the cluster has not answered this node for {:.0f} s",
                       view.stale_s);
  }
  const cluster::NodeView::Member* self = self_of(view);
  if (self != nullptr && self->is_active) return "";
  return "this node joins the cluster and has not all of its data yet";
}

}  // namespace

std::uint64_t peer_id(const Call& call) {
  const cluster::Node* node = call.runtime().options().cluster.node;
  if (node != nullptr) return node->view().self;
  constexpr std::uint64_t kExactInDouble = (std::uint64_t{1} << 53) - 1;
  return hash_text(call.runtime().process_id()) & kExactInDouble;
}

namespace {

void note_placements(const cluster::Node& node, const std::string& collection, ShardSizes& sizes) {
  using cluster::PlacementView;
  auto parts = node.part_placements(collection);
  sizes.is_spread = !parts.empty();
  auto whole = sizes.is_spread ? std::nullopt : node.placement(collection);
  const auto shared = whole ? std::make_shared<const PlacementView>(*std::move(whole)) : nullptr;
  for (auto& shard : sizes.shards) {
    const bool is_part = shard.number < parts.size();
    shard.placement =
        is_part ? std::make_shared<const PlacementView>(std::move(parts[shard.number])) : shared;
  }
}

}  // namespace

Result<ShardSizes> shard_sizes(Call& call, const OpenCollection& target) {
  QV_TRY(call.check_access(Access::kReadExtras, target.name));
  ShardSizes sizes;
  sizes.peer_id = peer_id(call);
  const cluster::Node* node = call.runtime().options().cluster.node;
  if (node != nullptr) sizes.cluster = node->view();
  sizes.is_alone = node != nullptr && target.collection->config()->cluster_id.empty();
  for (const auto& shard : target.collection->shards()) {
    auto& size = sizes.shards.emplace_back();
    size.number = shard.number;
    size.key = shard.key;
    for (const auto& segment : shard.segments) size.n_points += segment.n_points;
  }
  if (node != nullptr) note_placements(*node, std::string(target.name), sizes);
  return sizes;
}

Result<std::optional<ShardSizes>> shards_elsewhere(Call& call, const std::string& collection) {
  QV_TRY(call.check_access(Access::kReadExtras, collection));
  const cluster::Node* node = call.runtime().options().cluster.node;
  const auto holders = node == nullptr ? std::nullopt : node->holders(collection);
  if (!holders || holders->is_here) return std::optional<ShardSizes>();
  ShardSizes sizes;
  const auto placement = node->placement(collection);
  if (!placement) return std::optional<ShardSizes>();
  sizes.cluster = node->view();
  sizes.peer_id = sizes.cluster->self;
  const auto& config = placement->config;
  for (const std::uint32_t number : engine::shard_numbers(config)) {
    sizes.shards.push_back({number, std::nullopt, 0});
  }
  for (const auto& keyed : config.shard_keys) {
    for (const std::uint32_t number : keyed.shards) {
      const auto shard = std::ranges::find(sizes.shards, number, &ShardSizes::Shard::number);
      if (shard != sizes.shards.end()) shard->key = keyed.key;
    }
  }
  note_placements(*node, collection, sizes);
  return std::optional(std::move(sizes));
}

Result<CollectionParts> collection_parts(Call& call, const OpenCollection& target) {
  QV_TRY(call.check_access(Access::kRead, target.name));
  return CollectionParts{target.collection->shards(), target.collection->config()};
}

void readiness(Call& call, Done<Readiness> done) {
  auto ask = [&call]() -> Result<Readiness> {
    Readiness readiness;
    readiness.is_ready = call.runtime().database().ready(&readiness.reason);
    const std::string absence = absence_from_cluster(call.runtime());
    if (!absence.empty()) readiness = {false, absence};
    if (readiness.is_ready) return readiness;
    call.runtime().repeated_log().log(LogLevel::kWarning, "not ready", readiness.reason);
    // It names collections and files.
    if (!call.check_access(Access::kGlobalRead)) readiness.reason.clear();
    return readiness;
  };
  answer_on(call.runtime().reporting(), call, std::move(done), ask);
}

void metrics(Call& call, Done<std::string> done) {
  auto render = [&call]() -> Result<std::string> {
    QV_TRY(call.check_access(Access::kGlobalRead));
    return call.runtime().metrics().render();
  };
  answer_on(call.runtime().reporting(), call, std::move(done), render);
}

void telemetry(Call& call, const TelemetryParts& parts, Done<Telemetry> done) {
  auto read = [&call, parts]() -> Result<Telemetry> {
    QV_TRY(call.check_access(Access::kAny));
    return read_telemetry(call, parts);
  };
  answer_on(call.runtime().reporting(), call, std::move(done), read);
}

}  // namespace quiver::service::api

#include "service/api/server_info.h"

#include <utility>

#include "base/hash.h"
#include "engine/collection.h"
#include "service/api/answer.h"

namespace quiver::service::api {
namespace {

std::vector<CollectionTelemetry> open_collections_of(const engine::Database& database,
                                                     bool with_shards) {
  std::vector<CollectionTelemetry> all;
  for (const auto& [name, collection] : database.open_collections()) {
    auto& one = all.emplace_back();
    one.name = name;
    one.info = collection->info();
    if (with_shards) one.shards = collection->shards();
  }
  return all;
}

Telemetry read_telemetry(const Runtime& runtime, const TelemetryParts& parts) {
  Telemetry telemetry;
  telemetry.process_id = runtime.process_id();
  telemetry.started_at_ms = runtime.started_at_ms();
  telemetry.identity = runtime.options().identity;
  telemetry.n_compute_threads = runtime.compute().n_threads();
  telemetry.n_collections = runtime.database().collection_names().size();
  if (parts.machine) {
    telemetry.machine = read_machine();
    telemetry.memory = read_memory();
  }
  if (parts.collections) {
    telemetry.collections = open_collections_of(runtime.database(), parts.shards);
  }
  return telemetry;
}

}  // namespace

Result<ShardSizes> shard_sizes(Call& call, const OpenCollection& target) {
  QV_TRY(call.check_access(Access::kRead));
  constexpr std::uint64_t kExactInDouble = (std::uint64_t{1} << 53) - 1;
  ShardSizes sizes;
  sizes.peer_id = hash_text(call.runtime().process_id()) & kExactInDouble;
  for (const auto& shard : target.collection->shards()) {
    std::uint64_t& n = sizes.n_points.emplace_back();
    for (const auto& segment : shard.segments) n += segment.n_points;
  }
  return sizes;
}

void readiness(Call& call, Done<Readiness> done) {
  auto ask = [&call]() -> Result<Readiness> {
    Readiness readiness;
    readiness.is_ready = call.runtime().database().ready(&readiness.reason);
    return readiness;
  };
  answer_on(call.runtime().reporting(), call, std::move(done), ask);
}

void metrics(Call& call, Done<std::string> done) {
  auto render = [&call]() -> Result<std::string> {
    QV_TRY(call.check_access(Access::kRead));
    return call.runtime().metrics().render();
  };
  answer_on(call.runtime().reporting(), call, std::move(done), render);
}

void telemetry(Call& call, const TelemetryParts& parts, Done<Telemetry> done) {
  auto read = [&call, parts]() -> Result<Telemetry> {
    QV_TRY(call.check_access(Access::kRead));
    return read_telemetry(call.runtime(), parts);
  };
  answer_on(call.runtime().reporting(), call, std::move(done), read);
}

}  // namespace quiver::service::api

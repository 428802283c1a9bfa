// Reports about collections, in the shapes that clients know.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/model/reports.h"
#include "service/json/encode/encode.h"

namespace quiver::service::json {

/// How much is reported: more with each level, up to 4.
struct TelemetryDetail {
  std::uint64_t level = 0;
  Names names = Names::kShown;
  bool by_collection = false;  ///< also counts of answers by collection
};

/// How many operations there were, and how long they took.
struct OperationTimes {
  std::uint64_t n = 0;
  std::uint64_t n_failed = 0;  ///< not counted in the other members
  double total_us = 0;
  double min_us = 0;
  double max_us = 0;
  double last_at = 0;  ///< seconds since the epoch
};
/// {count, …}; times only if there are any, and all of them from level 1 on.
void write_operation_times(Writer& out, const OperationTimes& times, std::uint64_t level);

/// True if `write_collection_telemetry` writes something about shards.
[[nodiscard]] bool needs_shards(const TelemetryDetail& detail);
/// Level 1: {vectors, optimizers_status, params}; from 2 on {id, init_time_ms, config}; from 3 on
/// with `shards`, from 4 on with their segments. `shards`: empty unless `needs_shards`.
void write_collection_telemetry(Writer& out, std::string_view name,
                                const engine::CollectionInfo& info,
                                std::span<const engine::ShardInfo> shards,
                                const TelemetryDetail& detail);

}  // namespace quiver::service::json

// The operations that change points. The new state is a deterministic function of (state,
// operation).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "engine/model/shard_key.h"
#include "engine/model/vector.h"
#include "payload/filter.h"

namespace quiver::engine {

struct PointInput {
  PointId id;
  std::vector<NamedVector> vectors;
  std::string payload;  ///< canonical JSON object; empty means {}
};

/// The points that an operation changes: by id or by filter.
using PointSelector = std::variant<std::vector<PointId>, payload::Filter>;

enum class UpsertMode : std::uint8_t { kUpsert, kInsertOnly, kUpdateOnly };

/// Replaces or creates points. Existing points that do not match `update_filter` stay as they are;
/// new points are inserted without regard to it.
struct Upsert {
  std::vector<PointInput> points;
  UpsertMode mode = UpsertMode::kUpsert;
  std::optional<payload::Filter> update_filter;
  ShardSelector shards = {};
};
struct DeletePoints {
  PointSelector points;
  ShardSelector shards = {};
};
// The operations below answer kNotFound if an id does not exist. The shard that misses the id then
// applies nothing of the request.

/// Merges `payload` into the points' payloads, at the top level or under `key`.
struct SetPayload {
  std::string payload;  ///< canonical JSON object
  std::optional<std::string> key;
  PointSelector points;
  ShardSelector shards = {};
};
/// Replaces the points' payloads.
struct OverwritePayload {
  std::string payload;             ///< canonical JSON object
  std::optional<std::string> key;  ///< if set, this is a SetPayload
  PointSelector points;
  ShardSelector shards = {};
};
struct DeletePayload {
  std::vector<std::string> keys;  ///< payload paths
  PointSelector points;
  ShardSelector shards = {};
};
struct ClearPayload {
  PointSelector points;
  ShardSelector shards = {};
};
/// Sets the given vectors of existing points. Payload and other vectors stay.
struct UpdateVectors {
  std::vector<PointInput> points;  ///< without payload
  std::optional<payload::Filter> update_filter;
  ShardSelector shards = {};
};
struct DeleteVectors {
  std::vector<std::string> names;  ///< names of vector fields
  PointSelector points;
  ShardSelector shards = {};
};

using Operation = std::variant<Upsert, DeletePoints, SetPayload, OverwritePayload, DeletePayload,
                               ClearPayload, UpdateVectors, DeleteVectors>;

[[nodiscard]] inline const ShardSelector& shards_of(const Operation& operation) {
  return std::visit([](const auto& kind) -> const ShardSelector& { return kind.shards; },
                    operation);
}
inline void set_shards(Operation& operation, ShardSelector shards) {
  std::visit([&](auto& kind) { kind.shards = std::move(shards); }, operation);
}

struct UpdateResult {
  Seq operation_id{};      ///< position of the last change in its shard's sequence
  bool completed = false;  ///< true: visible to every later read; false: only durable
};

}  // namespace quiver::engine

// The operations that change points. The new state is a deterministic function of (state,
// operation).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
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
};
struct DeletePoints {
  PointSelector points;
};
// The operations below answer kNotFound if an id does not exist. The shard that misses the id then
// applies nothing of the request.

/// Merges `payload` into the points' payloads, at the top level or under `key`.
struct SetPayload {
  std::string payload;  ///< canonical JSON object
  std::optional<std::string> key;
  PointSelector points;
};
/// Replaces the points' payloads.
struct OverwritePayload {
  std::string payload;             ///< canonical JSON object
  std::optional<std::string> key;  ///< if set, this is a SetPayload
  PointSelector points;
};
struct DeletePayload {
  std::vector<std::string> keys;  ///< payload paths
  PointSelector points;
};
struct ClearPayload {
  PointSelector points;
};
/// Sets the given vectors of existing points. Payload and other vectors stay.
struct UpdateVectors {
  std::vector<PointInput> points;  ///< without payload
  std::optional<payload::Filter> update_filter;
};
struct DeleteVectors {
  std::vector<std::string> names;  ///< names of vector fields
  PointSelector points;
};

using Operation = std::variant<Upsert, DeletePoints, SetPayload, OverwritePayload, DeletePayload,
                               ClearPayload, UpdateVectors, DeleteVectors>;

struct UpdateResult {
  Seq operation_id{};      ///< position of the last change in its shard's sequence
  bool completed = false;  ///< true: visible to every later read; false: only durable
};

}  // namespace quiver::engine

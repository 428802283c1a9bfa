// Everything that changes points. An operation is a deterministic function of (state, operation).
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

/// Which points an operation is about.
using PointSelector = std::variant<std::vector<PointId>, payload::Filter>;

enum class UpsertMode : std::uint8_t { kUpsert, kInsertOnly, kUpdateOnly };

/// Replaces or creates points. With `update_filter`, existing points that do not match stay as
/// they are (new points are inserted all the same).
struct Upsert {
  std::vector<PointInput> points;
  UpsertMode mode = UpsertMode::kUpsert;
  std::optional<payload::Filter> update_filter;
};
struct DeletePoints {
  PointSelector points;
};
// Of what follows, an id that does not exist is kNotFound, and nothing of the request is applied to
// the shard that finds it so.

/// Merges `payload` at the top level, or under `key`.
struct SetPayload {
  std::string payload;  ///< canonical JSON object
  std::optional<std::string> key;
  PointSelector points;
};
struct OverwritePayload {
  std::string payload;
  std::optional<std::string> key;  ///< given: as SetPayload
  PointSelector points;
};
struct DeletePayload {
  std::vector<std::string> keys;  ///< payload paths
  PointSelector points;
};
struct ClearPayload {
  PointSelector points;
};
/// Sets the given fields of existing points, leaving payload and other fields.
struct UpdateVectors {
  std::vector<PointInput> points;  ///< payload unused
  std::optional<payload::Filter> update_filter;
};
struct DeleteVectors {
  std::vector<std::string> names;
  PointSelector points;
};

using Operation = std::variant<Upsert, DeletePoints, SetPayload, OverwritePayload, DeletePayload,
                               ClearPayload, UpdateVectors, DeleteVectors>;

struct UpdateResult {
  Seq operation_id{};      ///< of the last change made
  bool completed = false;  ///< true: visible to every later read; false: durable only
};

}  // namespace quiver::engine

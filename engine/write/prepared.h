// Operations after checking: vectors in stored form, filters compiled, paths parsed. Applying them
// cannot fail for a reason that the caller could have known.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/variant.h"
#include "engine/model/config.h"
#include "engine/model/operation.h"
#include "engine/model/row.h"
#include "payload/filter/predicate.h"
#include "payload/json/path.h"

namespace quiver::engine {

using PredicatePtr = std::shared_ptr<const payload::Predicate>;

/// Rows to put. If `vectors_only`, absent vectors and the payload keep their stored values, and
/// every point must exist.
struct PreparedPoints {
  std::vector<Row> rows;
  UpsertMode mode = UpsertMode::kUpsert;
  bool vectors_only = false;
  PredicatePtr update_filter;  ///< nullptr: none
};

/// A change of points, which are named or match a filter.
struct PreparedChange {
  enum class Kind : std::uint8_t {
    kDelete,
    kSetPayload,
    kOverwritePayload,
    kDeleteKeys,
    kClearPayload,
    kDeleteVectors,
  };
  Kind kind = Kind::kDelete;
  Variant<std::vector<PointId>, PredicatePtr> points;
  std::string payload;                   ///< kSetPayload, kOverwritePayload
  std::optional<payload::JsonPath> key;  ///< kSetPayload, kOverwritePayload
  std::vector<payload::JsonPath> keys;   ///< kDeleteKeys
  std::vector<std::size_t> fields;       ///< kDeleteVectors
};

using PreparedOperation = std::variant<PreparedPoints, PreparedChange>;

[[nodiscard]] Result<PreparedOperation> prepare(const Operation& operation,
                                                const CollectionConfig& config);
/// The same; moves the payloads of upserted points out of `operation`, and nothing else.
[[nodiscard]] Result<PreparedOperation> prepare_and_take(Operation& operation,
                                                         const CollectionConfig& config);

/// The part of `operation` for shard number `shard` of `n_shards`.
[[nodiscard]] PreparedOperation part_for_shard(const PreparedOperation& operation,
                                               std::uint32_t shard, std::uint32_t n_shards);
[[nodiscard]] bool is_empty(const PreparedOperation& operation);
/// The estimated memory that an operation holds.
[[nodiscard]] std::uint64_t size_bytes(const PreparedOperation& operation);

}  // namespace quiver::engine

// Counts of points by payload value: plain structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/variant.h"
#include "engine/model/shard_key.h"
#include "payload/filter.h"

namespace quiver::engine {

/// A keyword, a UUID (as lower-case text), an integer or a bool.
using FacetValue = Variant<std::string, std::int64_t, bool>;

/// Asks for the most frequent values under `key`, which needs a payload index of these kinds.
struct FacetRequest {
  std::string key;
  std::optional<payload::Filter> filter;
  std::uint64_t limit = 10;
  ShardSelector shards = {};
};

struct FacetHit {
  FacetValue value;
  std::uint64_t count = 0;  ///< points that have the value, once or more
  bool operator==(const FacetHit&) const = default;
};

}  // namespace quiver::engine

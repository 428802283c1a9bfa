// A picture of a field in two dimensions: plain structs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/model/shard_key.h"
#include "payload/filter.h"

namespace quiver::engine {

/// Points of a picture, at most.
inline constexpr std::uint64_t kMaxProjectedPoints = 100'000;

enum class ProjectionLayout : std::uint8_t {
  kPlane,      ///< the first two principal directions; dense fields only
  kNeighbours  ///< neighbours in the k-NN graph lie near one another
};

struct ProjectionRequest {
  std::uint64_t sample = 5000;  ///< ids chosen from those that have the vector
  std::uint64_t seed = 0;       ///< another seed chooses others
  ProjectionLayout layout = ProjectionLayout::kPlane;
  std::uint64_t k = 15;  ///< neighbours in the graph of the sample, 1 to kMaxJoinNeighbours
  std::optional<payload::Filter> filter;
  std::string using_field;
  ShardSelector shards = {};
};

struct Projection {
  /// Ascending. An id is there once for each shard key that has it.
  std::vector<PointId> ids;
  std::vector<float> places;  ///< `[n, 2]`
  /// Of the sample's variance along the two directions, 0 to 1; a layout of neighbours has none.
  std::optional<std::array<float, 2>> shares;
};

}  // namespace quiver::engine

// A sparse matrix of the distances among a sample of points: plain structs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/model/corpus_counts.h"
#include "engine/model/shard_key.h"
#include "payload/filter.h"

namespace quiver::engine {

struct MatrixRequest {
  std::uint64_t sample = 10;  ///< points drawn at random from those that have the vector
  std::uint64_t limit = 3;    ///< neighbours of each
  std::optional<payload::Filter> filter;
  std::string using_field;
  ShardSelector shards = {};
  std::shared_ptr<const CorpusCounts> counts = nullptr;  ///< as in SearchParams
};

struct MatrixEntry {
  std::uint64_t column = 0;  ///< position of the neighbour in `DistanceMatrix::ids`
  float score = 0;           ///< as users see it
};

/// Empty if fewer than two points can be drawn.
struct DistanceMatrix {
  std::vector<PointId> ids;  ///< ascending
  /// For each of `ids` its nearest others, best first.
  std::vector<std::vector<MatrixEntry>> rows;
};

}  // namespace quiver::engine

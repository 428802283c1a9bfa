// Weights of a linear fusion, learned from queries whose relevant points are known: plain structs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "engine/model/query.h"
#include "engine/model/shard_key.h"

namespace quiver::engine {

/// Each fifth of the judged queries is judged by weights learned from the others.
inline constexpr std::size_t kLearningFolds = 5;
inline constexpr std::size_t kMinJudgedQueries = 2 * kLearningFolds;
inline constexpr std::size_t kMaxJudgedQueries = 10'000;
/// Points that all prefetches together may find; each takes about 100 bytes of memory.
inline constexpr std::uint64_t kMaxJudgedHits = 4'000'000;

struct JudgedQuery {
  Query query;                    ///< its prefetches, and a linear query that has no effect
  std::vector<PointId> relevant;  ///< at least one
};

struct FusionLearning {
  std::vector<JudgedQuery> judged;             ///< all have equally many prefetches
  std::optional<Normalization> normalization;  ///< nullopt: the best of all
  MissingScore missing = MissingScore::kLowest;
  ShardSelector shards = {};
};

/// Means over the judged queries of nDCG@10, from 0 to 1: the gain of a relevant point of rank r
/// (from 0) is 1 / log2(r + 2), and 1 is the best sum possible.
struct LearnedFusion {
  Linear linear;              ///< weights >= 0 of sum 1, learned from all queries
  double held_out = 0;        ///< of queries that the weights were not learned from
  double rrf = 0;             ///< of reciprocal rank fusion with its defaults
  std::vector<double> alone;  ///< of each prefetch
  std::uint64_t n_judged = 0;
};

}  // namespace quiver::engine

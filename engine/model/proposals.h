// Search by a scorer that only the caller can run: plain structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/model/query.h"
#include "engine/model/shard_key.h"

namespace quiver::engine {

inline constexpr std::size_t kMaxScoredPoints = 4096;
inline constexpr std::uint64_t kMaxProposals = 500;
inline constexpr std::size_t kMaxProposalPrefetches = 8;
/// Numbers in the vectors of all scored points; each takes 8 bytes of memory.
inline constexpr std::uint64_t kMaxScoredValues = 1 << 24;

struct ScoredPoint {
  PointId id;
  double score = 0;  ///< finite; larger is better
};

/// How scores are estimated by ridge regression on the vectors.
struct RidgeOptions {
  std::optional<double> ridge;  ///< >= 0; nullopt: chosen by leaving points out
  bool has_intercept = true;    ///< false: vectors and scores are not centred
};

/// Asks which points to score next.
struct ProposalRequest {
  std::string basis;  ///< a dense field, whose vectors explain the scores
  std::optional<QueryVector> query;
  std::vector<Query> prefetch;
  std::optional<payload::Filter> filter;
  std::vector<ScoredPoint> scored;  ///< ascending by id, each once
  std::uint64_t n = 20;             ///< proposals, 1 to kMaxProposals
  std::uint64_t limit = 10;         ///< best points that the caller looks for, >= 1
  double explore = 0.3;             ///< deviations that are added to estimates, >= 0
  RidgeOptions ridge = {};
  SearchParams params = {};
  payload::Selector with_payload = payload::Selector::none();
  ShardSelector shards = {};
};

struct ScoreEstimate {
  double score = 0;
  double deviation = 0;  ///< standard deviation of the scorer's score around it
};

struct Proposal {
  Record record;                          ///< its score has no meaning
  std::optional<ScoreEstimate> estimate;  ///< nullopt: nothing was scored yet
};

/// One of the best points as far as is known.
struct BestPoint {
  PointId id;
  ScoreEstimate estimate;  ///< of a scored point: its score, deviation 0
  bool is_scored = false;
};

/// What the estimates are made of.
struct ScoreModelFacts {
  std::uint64_t n_scored = 0;  ///< scored points that exist and have the vector
  double ridge = 0;
  double r2 = 0;  ///< share of the variance of left out scores that is explained, at most 1
};

struct Proposals {
  std::vector<Proposal> proposals;  ///< most promising first
  std::vector<BestPoint> best;      ///< at most `limit`, best first
  std::optional<ScoreModelFacts> model;
  /// Expected rise of the mean of the best `limit` scores; nullopt: fewer are scored.
  std::optional<double> gain;
  bool is_done = false;  ///< more scores are not expected to change much
};

}  // namespace quiver::engine

// Points on their way up through a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/schema.h"
#include "engine/model/query.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

struct Candidate {
  PointId id;
  float score = 0;                   ///< larger is better
  const Segment* segment = nullptr;  ///< borrowed from the snapshot
  std::uint32_t row = 0;
  std::optional<OrderValue> order_value;
};
using Candidates = std::vector<Candidate>;

/// The result of a stage, best first.
struct Ranking {
  Candidates candidates;
  Metric metric = Metric::kDot;  ///< decides how scores are shown; kDot: as they are
  bool is_fused = false;         ///< scores are made of ranks or of several lists' scores
  bool is_listing = false;       ///< no scores at all: answers show version 0
  bool is_redrawn = false;       ///< another ranking each time: an offset into it means nothing
};

/// By score, equal scores by id.
[[nodiscard]] bool is_better(const Candidate& a, const Candidate& b);

/// Sorts by (score descending, id ascending) and leaves the first `limit`.
void keep_best(Candidates& candidates, std::uint64_t limit);

/// Similarity as users see it: distances are positive, Euclid is the root. Finite, because JSON has
/// no infinity.
[[nodiscard]] float shown_score(Metric metric, float score);

/// The stored vector of a candidate that has one.
[[nodiscard]] VectorValue vector_of(const Candidate& candidate, std::size_t field);

/// Each point of `rankings` once, ascending by id.
[[nodiscard]] Candidates union_of(const std::vector<Ranking>& rankings);

}  // namespace quiver::engine

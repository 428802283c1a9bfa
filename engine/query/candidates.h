// Points on their way up through the query tree, and what its nodes make of them.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/bitset.h"
#include "base/ids.h"
#include "base/schema.h"
#include "engine/model/query.h"
#include "engine/query/fusion.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

/// `segment` is borrowed from the snapshot. `score`: larger is better.
struct Candidate {
  PointId id;
  float score = 0;
  const Segment* segment = nullptr;
  std::uint32_t row = 0;
  std::optional<OrderValue> order_value;
};
using Candidates = std::vector<Candidate>;

/// The result of a node. `metric`: how its scores are shown; fused ones as they are.
struct Ranking {
  Candidates candidates;
  Metric metric = Metric::kDot;
};

/// Leaves the best `limit`, by (score, id).
void keep_best(Candidates& candidates, std::uint64_t limit);

/// Similarity as users see it: distances are positive, Euclid is the root. Finite: JSON has no
/// infinity.
[[nodiscard]] float shown_score(Metric metric, float score);
/// Drops what is worse than `threshold`, a score as it is shown; what equals it stays if
/// `is_inclusive`.
void apply_threshold(float threshold, bool is_inclusive, Ranking& ranking);

/// The lists as fusion takes them: distances enter negated, so that larger is better in each.
[[nodiscard]] std::vector<std::vector<Ranked>> ranked(const std::vector<Ranking>& lists);
/// The first `limit` of `order`, whose points are all in `lists`, with the scores of `order`.
[[nodiscard]] Ranking fused(const std::vector<Ranking>& lists, const std::vector<Ranked>& order,
                            std::uint64_t limit);
/// Each point once, ascending by id.
[[nodiscard]] Candidates union_of(const std::vector<Ranking>& lists);
[[nodiscard]] std::unordered_map<const Segment*, Bitset> rows_by_segment(
    const Candidates& candidates);
/// `limit` of them, drawn at random, in random order.
[[nodiscard]] Ranking sampled(const Candidates& all, std::uint64_t limit);

}  // namespace quiver::engine

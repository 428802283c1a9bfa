// Learns the weights of a linear fusion from judged queries by coordinate ascent on nDCG@10
// (Metzler, Croft 2007: Linear feature-based models for information retrieval).
//
// Scores are divided by the mean range that they have in their list, so that a step means the same
// in each. From the best of equal weights and of each list alone, one weight after the other goes
// up or down by a step while that helps; then the step is halved. The figure held out is that of
// every fifth query by weights, and a normalization, chosen by the others.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/fusion_learning.h"
#include "engine/query/stages/environment.h"
#include "engine/query/stages/fusion.h"

namespace quiver::engine {

/// What the prefetches of a judged query found.
struct JudgedLists {
  std::vector<std::vector<Ranked>> lists;
  std::vector<PointId> relevant;
};

/// nDCG@10 of one ranked list; 0 if nothing is relevant.
[[nodiscard]] double ndcg_of(std::span<const Ranked> list, std::span<const PointId> relevant);

/// `judged`: at least kMinJudgedQueries, all with equally many lists. The same input gives the same
/// weights. Time: about a millisecond for each judged query of 200 points. kCancelled or
/// kDeadlineExceeded if `cancel` says so.
[[nodiscard]] Result<LearnedFusion> learn_weights(std::span<const JudgedLists> judged,
                                                  std::optional<Normalization> normalization,
                                                  MissingScore missing, const Cancel& cancel);

/// As Collection::learn_fusion.
[[nodiscard]] Result<LearnedFusion> learn_fusion(const SearchEnvironment& environment,
                                                 const FusionLearning& learning);

}  // namespace quiver::engine

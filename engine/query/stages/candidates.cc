#include "engine/query/stages/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/model/row.h"

namespace quiver::engine {

bool is_better(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

void keep_best(Candidates& candidates, std::uint64_t limit) {
  std::sort(candidates.begin(), candidates.end(), is_better);
  if (candidates.size() > limit) candidates.resize(limit);
}

float shown_score(Metric metric, float score) {
  constexpr float kMaxShown = std::numeric_limits<float>::max();
  if (metric == Metric::kEuclid) score = std::sqrt(std::abs(score));
  if (metric == Metric::kManhattan) score = 0.0F - score;
  return std::clamp(score, -kMaxShown, kMaxShown);
}

VectorValue vector_of(const Candidate& candidate, std::size_t field) {
  const Segment& segment = *candidate.segment;
  return to_value(segment.data->fields[field].schema, segment.vector(field, candidate.row));
}

Candidates union_of(const std::vector<Ranking>& rankings) {
  Candidates all;
  for (const auto& ranking : rankings) {
    all.insert(all.end(), ranking.candidates.begin(), ranking.candidates.end());
  }
  std::sort(all.begin(), all.end(),
            [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  const auto same = [](const Candidate& a, const Candidate& b) { return a.id == b.id; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

}  // namespace quiver::engine

#include "engine/query/stages/threshold.h"

#include <utility>
#include <vector>

#include "engine/query/stages/stages.h"

namespace quiver::engine {
namespace {

bool reaches(const Ranking& ranking, float score, float threshold) {
  const float shown = shown_score(ranking.metric, score);
  if (shown == threshold) return ranking.is_fused;
  return is_distance(ranking.metric) ? shown < threshold : shown > threshold;
}

class ThresholdStage final : public PlanStage {
 public:
  ThresholdStage(const Query& query, StagePtr input) : query_(query), input_(std::move(input)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    QV_TRY(auto ranking, input_->run(environment));
    apply_threshold(query_, ranking);
    return ranking;
  }

 private:
  const Query& query_;
  const StagePtr input_;
};

}  // namespace

void apply_threshold(const Query& query, Ranking& ranking) {
  if (!query.score_threshold) return;
  std::erase_if(ranking.candidates, [&](const Candidate& candidate) {
    return !reaches(ranking, candidate.score, *query.score_threshold);
  });
}

StagePtr with_threshold(const Query& query, StagePtr input) {
  if (!query.score_threshold) return input;
  return std::make_unique<ThresholdStage>(query, std::move(input));
}

}  // namespace quiver::engine

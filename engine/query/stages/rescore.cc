// Scores again, exactly, what prefetches found: their order does not count, only their points.
#include "engine/query/stages/rescore.h"

#include <utility>

#include "engine/query/stages/stages.h"
#include "index/exact/searcher.h"

namespace quiver::engine {
namespace {

class RescoreStage final : public PlanStage {
 public:
  RescoreStage(const Nearest& kind, PlanNode node) : kind_(kind), node_(std::move(node)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    QV_TRY(const auto rankings, run_inputs(node_, environment));
    QV_TRY(const auto query,
           field_query(environment, node_.query.using_field, kind_, node_.query.params));
    return rescore(environment, query, union_of(rankings), node_.limit);
  }

 private:
  const Nearest& kind_;
  const PlanNode node_;
};

}  // namespace

Result<Ranking> rescore(const SearchEnvironment& environment, const FieldQuery& query,
                        Candidates candidates, std::uint64_t limit) {
  Ranking scored{{}, query.prepared.schema().metric};
  for (Candidate& candidate : candidates) {
    QV_TRY(environment.cancel.check());
    const auto& column = candidate.segment->data->fields[query.field];
    const auto score = index::score_row(query.prepared, column, candidate.row);
    if (!score) continue;  // the point has no such vector, or none of the sparse indices
    candidate.score = *score;
    scored.candidates.push_back(std::move(candidate));
  }
  keep_best(scored.candidates, limit);
  return scored;
}

StagePtr rescore(const Nearest& kind, PlanNode node) {
  return std::make_unique<RescoreStage>(kind, std::move(node));
}

}  // namespace quiver::engine

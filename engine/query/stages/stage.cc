#include "engine/query/stages/stage.h"

#include <utility>

namespace quiver::engine {
namespace {

class KnownRanking final : public PlanStage {
 public:
  explicit KnownRanking(Ranking ranking) : ranking_(std::move(ranking)) {}
  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& /*environment*/) const override {
    return ranking_;
  }

 private:
  const Ranking ranking_;
};

}  // namespace

StagePtr known_ranking(Ranking ranking) {
  return std::make_unique<KnownRanking>(std::move(ranking));
}

Result<std::vector<Ranking>> run_inputs(const PlanNode& node,
                                        const SearchEnvironment& environment) {
  std::vector<Ranking> rankings;
  rankings.reserve(node.inputs.size());
  for (const auto& input : node.inputs) {
    QV_TRY(auto ranking, input->run(environment));
    rankings.push_back(std::move(ranking));
  }
  return rankings;
}

Result<PredicatePtr> compile_filter(const PlanNode& node, const SearchEnvironment& environment) {
  if (node.filter == nullptr) return PredicatePtr();
  return payload::compile(*node.filter, environment.config.indexes);
}

}  // namespace quiver::engine

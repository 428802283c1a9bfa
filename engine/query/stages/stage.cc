#include "engine/query/stages/stage.h"

namespace quiver::engine {

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

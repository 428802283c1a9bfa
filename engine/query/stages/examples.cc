// Queries that compare points with several examples.
#include <memory>

#include "engine/query/stages/stages.h"

namespace quiver::engine {
namespace {

class ExamplesStage final : public PlanStage {
 public:
  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& /*environment*/) const override {
    return fail(Code::kUnimplemented, "queries of this kind are not supported yet");
  }
};

}  // namespace

StagePtr make_stage(const Recommend& /*kind*/, PlanNode /*node*/) {
  return std::make_unique<ExamplesStage>();
}
StagePtr make_stage(const Discover& /*kind*/, PlanNode /*node*/) {
  return std::make_unique<ExamplesStage>();
}
StagePtr make_stage(const Context& /*kind*/, PlanNode /*node*/) {
  return std::make_unique<ExamplesStage>();
}
StagePtr make_stage(const RelevanceFeedback& /*kind*/, PlanNode /*node*/) {
  return std::make_unique<ExamplesStage>();
}

}  // namespace quiver::engine

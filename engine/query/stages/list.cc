// No query at all: points in the order of their ids.
#include <optional>
#include <utility>

#include "engine/query/stages/stages.h"
#include "engine/segment/ordering.h"

namespace quiver::engine {
namespace {

class ListStage final : public PlanStage {
 public:
  explicit ListStage(PlanNode node) : node_(std::move(node)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    if (!node_.inputs.empty()) return refuse_inputs(environment);
    QV_TRY(const auto predicate, compile_filter(node_, environment));
    QV_TRY(const auto places, first_points_by_id(environment.snapshot, std::nullopt, node_.limit,
                                                 predicate.get(), environment.cancel));
    Ranking listing;
    listing.is_listing = true;
    listing.candidates.reserve(places.size());
    for (const auto& [segment, row] : places) {
      listing.candidates.push_back({segment->data->ids[row], 1.0F, segment, row, {}});
    }
    return listing;
  }

 private:
  /// An error of a prefetch comes first.
  [[nodiscard]] Result<Ranking> refuse_inputs(const SearchEnvironment& environment) const {
    QV_TRY(run_inputs(node_, environment));
    return fail(Code::kFailedPrecondition,
                "A query is needed to merge the prefetches. Can't have prefetches without defining "
                "a query.");
  }

  const PlanNode node_;
};

}  // namespace

StagePtr make_stage(const NoQuery& /*kind*/, PlanNode node) {
  const Query& query = node.query;
  return with_threshold(query, std::make_unique<ListStage>(std::move(node)));
}

}  // namespace quiver::engine

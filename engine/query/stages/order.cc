// `order_by`: points in the order of a payload value.
#include <unordered_map>
#include <utility>

#include "engine/query/stages/stages.h"
#include "engine/segment/ordering.h"
#include "engine/segment/segment_rows.h"

namespace quiver::engine {
namespace {

using RowsBySegment = std::unordered_map<const Segment*, Bitset>;

RowsBySegment rows_by_segment(const std::vector<Ranking>& rankings) {
  RowsBySegment rows;
  for (const auto& ranking : rankings) {
    for (const auto& [id, score, segment, row, value] : ranking.candidates) {
      rows.try_emplace(segment, segment->n_rows()).first->second.set(row);
    }
  }
  return rows;
}

class OrderStage final : public PlanStage {
 public:
  OrderStage(const OrderBy& order, PlanNode node) : order_(order), node_(std::move(node)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    return node_.inputs.empty() ? of_snapshot(environment) : of_inputs(environment);
  }

 private:
  [[nodiscard]] Result<Ranking> of_snapshot(const SearchEnvironment& environment) const {
    QV_TRY(const auto predicate, compile_filter(node_, environment));
    return ordered(environment, [&](const Segment& segment) {
      return matching_rows(segment, predicate.get(), environment.cancel);
    });
  }

  [[nodiscard]] Result<Ranking> of_inputs(const SearchEnvironment& environment) const {
    QV_TRY(const auto rankings, run_inputs(node_, environment));
    const auto rows = rows_by_segment(rankings);
    return ordered(environment, [&](const Segment& segment) -> Result<Bitset> {
      const auto found = rows.find(&segment);
      return found == rows.end() ? Bitset(segment.n_rows()) : found->second;
    });
  }

  template <class RowsOf>
  Result<Ranking> ordered(const SearchEnvironment& environment, const RowsOf& rows_of) const {
    QV_TRY(const auto points, first_points_in_order(environment.snapshot, environment.config,
                                                    order_, node_.limit, rows_of));
    Ranking listing;
    listing.is_listing = true;
    listing.candidates.reserve(points.size());
    for (const auto& [segment, row, value] : points) {
      listing.candidates.push_back({segment->data->ids[row], 1.0F, segment, row, value});
    }
    return listing;
  }

  const OrderBy& order_;
  const PlanNode node_;
};

}  // namespace

StagePtr make_stage(const OrderBy& kind, PlanNode node) {
  const Query& query = node.query;
  return with_threshold(query, std::make_unique<OrderStage>(kind, std::move(node)));
}

}  // namespace quiver::engine

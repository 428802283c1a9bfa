#include "engine/query/stages/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/query/stages/linear.h"
#include "engine/query/stages/stages.h"

namespace quiver::engine {
namespace {

/// The sum of scores of each point.
class Sums {
 public:
  void add(const PointId& id, float score) { sums_[id] += score; }
  [[nodiscard]] std::vector<Ranked> best_first() const {
    std::vector<Ranked> fused;
    fused.reserve(sums_.size());
    for (const auto& [id, score] : sums_) fused.push_back({id, score});
    sort_best_first(fused);
    return fused;
  }

 private:
  std::unordered_map<PointId, float> sums_;
};

struct Spread {
  double low = 0;
  double width = 0;
};

Spread spread_of(const std::vector<Ranked>& list) {
  const auto n = static_cast<double>(list.size());
  double mean = 0;
  for (const auto& hit : list) mean += hit.score / n;
  double squares = 0;
  for (const auto& hit : list) squares += (hit.score - mean) * (hit.score - mean);
  const double deviation = list.size() < 2 ? 0 : std::sqrt(squares / (n - 1));
  return {mean - 3 * deviation, 6 * deviation};
}

/// The first `limit` points of `order`, all of which are in `rankings`, with the scores of `order`.
Ranking in_order(const std::vector<Ranked>& order, const std::vector<Ranking>& rankings,
                 std::uint64_t limit) {
  std::unordered_map<PointId, const Candidate*> by_id;
  for (const auto& ranking : rankings) {
    for (const auto& candidate : ranking.candidates) by_id.emplace(candidate.id, &candidate);
  }
  Ranking fused;
  fused.is_fused = true;
  for (const auto& hit : order) {
    if (fused.candidates.size() == limit) break;
    fused.candidates.push_back(*by_id.at(hit.id));
    fused.candidates.back().score = hit.score;
  }
  return fused;
}

Result<> check_weights(std::string_view name, const std::vector<float>& weights,
                       std::size_t n_lists) {
  if (weights.empty() || weights.size() == n_lists) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("{} has {} weights for {} prefetches, must be one for each", name,
                          weights.size(), n_lists));
}

using Lists = std::vector<std::vector<Ranked>>;

Result<std::vector<Ranked>> fuse(const Rrf& rrf, const Lists& lists) {
  QV_TRY(check_weights("rrf", rrf.weights, lists.size()));
  return fuse_rrf(lists, rrf);
}
Result<std::vector<Ranked>> fuse(const Dbsf& /*dbsf*/, const Lists& lists) {
  return fuse_dbsf(lists);
}
Result<std::vector<Ranked>> fuse(const Linear& linear, const Lists& lists) {
  QV_TRY(check_weights("linear", linear.weights, lists.size()));
  return fuse_linear(lists, linear);
}

template <class Kind>
class FusionStage final : public PlanStage {
 public:
  FusionStage(const Kind& kind, PlanNode node) : kind_(kind), node_(std::move(node)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    if (node_.inputs.empty()) {
      return fail(Code::kFailedPrecondition, "Fusion queries need at least one prefetch to fuse.");
    }
    QV_TRY(const auto rankings, run_inputs(node_, environment));
    if (!node_.query.using_field.empty()) {  // errors of prefetches come first, as in Qdrant
      return fail(Code::kFailedPrecondition,
                  "Fusion queries cannot be combined with the 'using' field.");
    }
    QV_TRY(const auto order, fuse(kind_, lists_of(rankings)));
    return in_order(order, rankings, node_.limit);
  }

 private:
  const Kind& kind_;
  const PlanNode node_;
};

template <class Kind>
StagePtr fusion_stage(const Kind& kind, PlanNode node) {
  const Query& query = node.query;
  const std::uint64_t limit = node.limit;
  if (kind.mmr) node.limit = kind.mmr->candidates_limit.value_or(limit);
  StagePtr stage =
      with_threshold(query, std::make_unique<FusionStage<Kind>>(kind, std::move(node)));
  if (!kind.mmr) return stage;
  return diversify(*kind.mmr, kind.mmr->using_field, limit, std::move(stage));
}

}  // namespace

void sort_best_first(std::vector<Ranked>& list) {
  std::ranges::sort(list, [](const Ranked& a, const Ranked& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
}

std::vector<Ranked> fuse_rrf(std::span<const std::vector<Ranked>> lists, const Rrf& rrf) {
  Sums sums;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const double weight = rrf.weights.empty() ? 1.0 : rrf.weights[i];
    for (std::size_t rank = 0; rank < lists[i].size(); ++rank) {
      const double place = static_cast<double>(rank + 1) / weight + static_cast<double>(rrf.k) - 1;
      sums.add(lists[i][rank].id, weight > 0 ? static_cast<float>(1.0 / place) : 0.0F);
    }
  }
  return sums.best_first();
}

std::vector<Ranked> fuse_dbsf(std::span<const std::vector<Ranked>> lists) {
  Sums sums;
  for (const auto& list : lists) {
    const Spread spread = spread_of(list);
    for (const auto& hit : list) {
      const double score = spread.width == 0 ? 0.5 : (hit.score - spread.low) / spread.width;
      sums.add(hit.id, static_cast<float>(score));
    }
  }
  return sums.best_first();
}

std::vector<std::vector<Ranked>> lists_of(const std::vector<Ranking>& rankings) {
  std::vector<std::vector<Ranked>> lists;
  for (const auto& ranking : rankings) {
    auto& list = lists.emplace_back();
    for (const auto& candidate : ranking.candidates) {
      const float shown = shown_score(ranking.metric, candidate.score);
      list.push_back({candidate.id, is_distance(ranking.metric) ? -shown : shown});
    }
  }
  return lists;
}

StagePtr make_stage(const Rrf& kind, PlanNode node) { return fusion_stage(kind, std::move(node)); }
StagePtr make_stage(const Dbsf& kind, PlanNode node) { return fusion_stage(kind, std::move(node)); }
StagePtr make_stage(const Linear& kind, PlanNode node) {
  return fusion_stage(kind, std::move(node));
}

}  // namespace quiver::engine

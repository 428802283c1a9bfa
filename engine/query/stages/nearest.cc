#include "engine/query/stages/nearest.h"

#include <array>
#include <utility>
#include <variant>

#include "engine/query/stages/field_query.h"
#include "engine/query/stages/segment_search.h"
#include "engine/query/stages/stages.h"

namespace quiver::engine {
namespace {

class NearestStage final : public PlanStage {
 public:
  explicit NearestStage(PlanNode node) : node_(std::move(node)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    QV_TRY(const auto predicate, compile_filter(node_, environment));
    const std::array queries = {NearestQuery{&node_.query, node_.limit}};
    QV_TRY(auto rankings, search_nearest(environment, queries, predicate.get()));
    return std::move(rankings[0]);
  }

 private:
  const PlanNode node_;
};

}  // namespace

Result<std::vector<Ranking>> search_nearest(const SearchEnvironment& environment,
                                            std::span<const NearestQuery> queries,
                                            const payload::Predicate* predicate) {
  std::vector<FieldQuery> prepared;
  prepared.reserve(queries.size());
  for (const auto& [query, limit] : queries) {
    QV_TRY(auto one, field_query(environment, query->using_field, std::get<Nearest>(query->kind),
                                 query->params.token_weights));
    prepared.push_back(std::move(one));
  }
  FieldSearch search{{}, {}, prepared[0].field, predicate, queries[0].query->params};
  for (std::size_t i = 0; i < queries.size(); ++i) {
    search.queries.push_back(&prepared[i].prepared);
    search.limits.push_back(queries[i].limit);
  }
  QV_TRY(auto candidates, search_segments(environment, search));
  std::vector<Ranking> rankings;
  rankings.reserve(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    rankings.push_back({std::move(candidates[i]), prepared[i].prepared.schema().metric});
  }
  return rankings;
}

bool is_plain_nearest(const Query& query) {
  const auto* nearest = std::get_if<Nearest>(&query.kind);
  return nearest != nullptr && std::holds_alternative<VectorValue>(nearest->vector) &&
         !nearest->own && !nearest->mmr && query.prefetch.empty() && !query.filter;
}

StagePtr make_stage(const Nearest& kind, PlanNode node) {
  const Query& query = node.query;
  const std::uint64_t limit = node.limit;
  if (kind.mmr) node.limit = kind.mmr->candidates_limit.value_or(limit);
  StagePtr stage = node.inputs.empty() ? std::make_unique<const NearestStage>(std::move(node))
                                       : rescore(kind, std::move(node));
  stage = with_threshold(query, std::move(stage));
  return kind.mmr ? diversify(query, limit, std::move(stage)) : std::move(stage);
}

void add_named_points(const Nearest& kind, std::vector<PointId>& ids) {
  if (const auto* id = std::get_if<PointId>(&kind.vector)) ids.push_back(*id);
  if (kind.own) ids.push_back(*kind.own);
}

}  // namespace quiver::engine

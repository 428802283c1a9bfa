#include "engine/query/stages/nearest.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/threads/parallel.h"
#include "engine/query/stages/field_query.h"
#include "engine/query/stages/segment_search.h"
#include "engine/query/stages/stages.h"

namespace quiver::engine {
namespace {

Result<FieldQuery> field_query_of(const SearchEnvironment& environment, const Query& query) {
  return field_query(environment, query.using_field, std::get<Nearest>(query.kind), query.params);
}

/// Whoever asks for a recall has the field's queries recorded, this one included.
void note_asked(const SearchEnvironment& environment, const Query& query) {
  const auto field = environment.config.field(query.using_field);
  if (query.params.target.is_none() || !field) return;
  if (environment.queries != nullptr) environment.queries->begin(*field);
  if (environment.recall != nullptr) environment.recall->note_asked(*field);
}

/// The filters of queries, compiled: equal ones once.
class QueryFilters {
 public:
  /// Errors are those of `payload::compile`.
  static Result<QueryFilters> make(const SearchEnvironment& environment,
                                   std::span<const Query* const> queries) {
    QueryFilters filters;
    for (const Query* query : queries) {
      if (!query->filter) {
        filters.of_query_.push_back(nullptr);
        continue;
      }
      QV_TRY(auto predicate, payload::compile(*query->filter, environment.config.indexes));
      filters.of_query_.push_back(filters.kept(std::move(predicate)));
    }
    return filters;
  }

  /// The filter of all queries; nullptr: there is none, or they differ.
  [[nodiscard]] const payload::Predicate* common() const {
    return are_equal() ? of_query_.front() : nullptr;
  }
  /// Those of each query, if they differ.
  [[nodiscard]] std::span<const payload::Predicate* const> own() const {
    if (are_equal()) return {};
    return of_query_;
  }

 private:
  [[nodiscard]] bool are_equal() const {
    return std::ranges::all_of(of_query_, [&](const auto* one) { return one == of_query_[0]; });
  }
  /// An equal one that is known, or this one.
  const payload::Predicate* kept(PredicatePtr predicate) {
    const auto* identity = predicate->identity();
    if (identity != nullptr) {
      auto [known, end] = by_hash_.equal_range(identity->hash);
      for (; known != end; ++known) {
        if (*known->second->identity() == *identity) return known->second;
      }
      by_hash_.emplace(identity->hash, predicate.get());
    }
    return compiled_.emplace_back(std::move(predicate)).get();
  }

  std::vector<PredicatePtr> compiled_;
  std::unordered_multimap<std::uint64_t, const payload::Predicate*> by_hash_;
  std::vector<const payload::Predicate*> of_query_;
};

class NearestStage final : public PlanStage {
 public:
  explicit NearestStage(PlanNode node) : node_(std::move(node)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    note_asked(environment, node_.query);
    QV_TRY(const auto predicate, compile_filter(node_, environment));
    QV_TRY(const auto query, field_query_of(environment, node_.query));
    const std::array queries = {&query.prepared};
    const std::array limits = {node_.limit};
    RecallReport recall;
    QV_TRY(auto candidates,
           search_segments(environment, {queries, limits, query.field, predicate.get(),
                                         node_.query.params, &recall}));
    if (const auto facts = recall.facts()) {
      report(environment, *facts, query, predicate, candidates[0]);
    }
    return Ranking{std::move(candidates[0]), query.prepared.schema().metric};
  }

 private:
  /// Tells how the recall was reached, and has some of the searches done again exactly.
  void report(const SearchEnvironment& environment, const RecallReport::Facts& facts,
              const FieldQuery& query, const PredicatePtr& predicate,
              const Candidates& found) const {
    if (node_.query.recall != nullptr) node_.query.recall->add(facts);
    const bool was_exact = facts.effort == 0;
    if (was_exact || environment.recall == nullptr) return;
    if (!environment.recall->wants(query.field)) return;
    WatchedSearch watched{query.field, facts.target,       node_.limit,          query.prepared,
                          predicate,   node_.query.params, environment.snapshot, {}};
    watched.params.target = {};
    watched.params.exact = true;
    for (const Candidate& hit : found) watched.scores.push_back(hit.score);
    environment.recall->hand_over(std::move(watched));
  }

  const PlanNode node_;
};

}  // namespace

Result<std::vector<Ranking>> search_nearest(const SearchEnvironment& environment,
                                            std::span<const Query* const> queries,
                                            std::span<const std::uint64_t> limits) {
  std::vector<std::optional<Result<FieldQuery>>> field_queries(queries.size());
  parallel_if_many(environment.executor, queries.size(), [&](std::size_t i) {
    field_queries[i].emplace(field_query_of(environment, *queries[i]));
  });
  std::vector<const index::PreparedQuery*> prepared;
  for (const auto& query : field_queries) {
    if (!*query) return fail(query->error());
    prepared.push_back(&(*query)->prepared);
  }
  const std::size_t field = (*field_queries[0])->field;
  QV_TRY(const auto filters, QueryFilters::make(environment, queries));
  QV_TRY(auto candidates,
         search_segments(environment, {prepared, limits, field, filters.common(),
                                       queries[0]->params, nullptr, filters.own()}));
  std::vector<Ranking> rankings;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    rankings.push_back({std::move(candidates[i]), prepared[i]->schema().metric});
  }
  return rankings;
}

bool is_plain_nearest(const Query& query) {
  const auto* nearest = std::get_if<Nearest>(&query.kind);
  return nearest != nullptr && std::holds_alternative<VectorValue>(nearest->vector) &&
         !nearest->own && !nearest->mmr && query.prefetch.empty() && query.recall == nullptr;
}

StagePtr make_stage(const Nearest& kind, PlanNode node) {
  const Query& query = node.query;
  const std::uint64_t limit = node.limit;
  if (kind.mmr) node.limit = kind.mmr->candidates_limit.value_or(limit);
  StagePtr stage = node.inputs.empty() ? std::make_unique<const NearestStage>(std::move(node))
                                       : rescore(kind, std::move(node));
  stage = with_threshold(query, std::move(stage));
  return kind.mmr ? diversify(*kind.mmr, query.using_field, limit, std::move(stage))
                  : std::move(stage);
}

void add_named_points(const Nearest& kind, std::vector<PointId>& ids) {
  if (const auto* id = std::get_if<PointId>(&kind.vector)) ids.push_back(*id);
  if (kind.own) ids.push_back(*kind.own);
}

}  // namespace quiver::engine

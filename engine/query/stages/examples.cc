// Queries that compare points with several examples. Their scores are shown as they are, also under
// a metric of distances: larger is better.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/model/query_vectors.h"
#include "engine/query/examples/average.h"
#include "engine/query/examples/example_score.h"
#include "engine/query/examples/weighted_query.h"
#include "engine/query/stages/example_search.h"
#include "engine/query/stages/field_query.h"
#include "engine/query/stages/rescore.h"
#include "engine/query/stages/segment_search.h"
#include "engine/query/stages/stages.h"

namespace quiver::engine {
namespace {

/// Bounds the memory of a query: 256 MiB, each example kept twice, as it is and prepared.
constexpr std::size_t kMaxExampleValues = std::size_t{1} << 26U;

/// A prepared sparse vector takes its greatest index in place of its length.
std::size_t n_values(const VectorValue& value) {
  if (const auto* dense = std::get_if<DenseVector>(&value)) return dense->size();
  if (const auto* multi = std::get_if<MultiVector>(&value)) return multi->values.size();
  const auto& sparse = std::get<SparseVector>(value);
  const std::size_t greatest = sparse.indices.empty() ? 0 : sparse.indices.back();
  constexpr std::size_t kMaxScattered = std::size_t{1} << 20U;  // as in index/prepared_query.cc
  return sparse.values.size() * 2 + (greatest < kMaxScattered ? greatest : 0);
}

/// The vectors of a query, looked up and checked.
Result<std::vector<VectorValue>> values_of(const SearchEnvironment& environment, std::size_t field,
                                           const std::vector<const QueryVector*>& vectors) {
  if (vectors.size() > kMaxExamples) {
    return fail(Code::kInvalidArgument, fmt::format("the query has {} examples, must be at most {}",
                                                    vectors.size(), kMaxExamples));
  }
  std::vector<VectorValue> values;
  std::size_t n = 0;
  for (const QueryVector* vector : vectors) {
    QV_TRY(environment.cancel.check());
    QV_TRY(auto value, query_value(environment, field, *vector));
    n += n_values(value);
    if (n > kMaxExampleValues) {
      return fail(Code::kInvalidArgument,
                  fmt::format("the examples of the query hold {} numbers or more, must be at most "
                              "{}",
                              n, kMaxExampleValues));
    }
    values.push_back(std::move(value));
  }
  return values;
}

/// The examples as the index takes them.
struct Prepared {
  std::vector<index::PreparedQuery> queries;
  std::vector<const index::PreparedQuery*> pointers;
};

/// Weighs `values` by IDF, where the field has it.
Result<Prepared> prepare_all(const SearchEnvironment& environment, std::size_t field,
                             const SearchParams& params, std::vector<VectorValue>& values) {
  Prepared prepared;
  for (auto& value : values) {
    QV_TRY(weigh_value(environment, field, params, value));
    QV_TRY(auto query,
           prepare_value(environment.config.fields[field], value, params.token_weights));
    prepared.queries.push_back(std::move(query));
  }
  for (const auto& query : prepared.queries) prepared.pointers.push_back(&query);
  return prepared;
}

Result<> check_kind(const Recommend& recommend) {
  if (!recommend.positive.empty()) return {};
  if (recommend.strategy == RecommendStrategy::kAverageVector) {
    return fail(Code::kInvalidArgument,
                "Positive vectors should not be empty with `average` strategy");
  }
  if (!recommend.negative.empty()) return {};
  return fail(Code::kInvalidArgument,
              "At least one positive or negative vector/id must be provided");
}
template <class Kind>
Result<> check_kind(const Kind& /*kind*/) {
  return {};
}

Result<ExampleScorePtr> score_of(const Recommend& recommend, const Cancel& /*cancel*/) {
  return recommend.strategy == RecommendStrategy::kBestScore ? best_score(recommend)
                                                             : sum_of_scores(recommend);
}
Result<ExampleScorePtr> score_of(const RelevanceFeedback& feedback, const Cancel& cancel) {
  return make_score(feedback, cancel);
}
template <class Kind>
Result<ExampleScorePtr> score_of(const Kind& kind, const Cancel& /*cancel*/) {
  return make_score(kind);
}

template <class Kind>
class ExamplesStage final : public PlanStage {
 public:
  ExamplesStage(const Kind& kind, PlanNode node) : kind_(kind), node_(std::move(node)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    QV_TRY(check_kind(kind_));
    QV_TRY(const std::size_t field, environment.config.field(node_.query.using_field));
    const auto& schema = environment.config.fields[field];
    QV_TRY(auto values, values_of(environment, field, vectors_of(kind_)));
    QV_TRY(const auto examples, prepare_all(environment, field, node_.query.params, values));
    QV_TRY(const auto score, score_of(kind_, environment.cancel));
    const bool is_weighed = !node_.query.params.token_weights.empty();
    const auto nearest = is_weighed
                             ? std::nullopt
                             : weighted_query(schema, values, examples.pointers, score->weights());
    QV_TRY(const auto predicate, compile_filter(node_, environment));
    const ExampleSearch search{examples.pointers,
                               *score,
                               nearest ? &*nearest : nullptr,
                               field,
                               node_.limit,
                               predicate.get(),
                               node_.query.params};
    QV_TRY(auto candidates, search_in(environment, search));
    return Ranking{std::move(candidates)};
  }

 private:
  [[nodiscard]] Result<Candidates> search_in(const SearchEnvironment& environment,
                                             const ExampleSearch& search) const {
    if (node_.inputs.empty()) return search_by_examples(environment, search);
    QV_TRY(const auto rankings, run_inputs(node_, environment));
    return rescore_by_examples(environment, search, union_of(rankings));
  }

  const Kind& kind_;
  const PlanNode node_;
};

/// A nearest query of the average of all examples.
class AverageStage final : public PlanStage {
 public:
  AverageStage(const Recommend& recommend, PlanNode node)
      : recommend_(recommend), node_(std::move(node)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    QV_TRY(check_kind(recommend_));
    QV_TRY(const auto query, average_query(environment));
    if (!node_.inputs.empty()) {
      QV_TRY(const auto rankings, run_inputs(node_, environment));
      return rescore(environment, query, union_of(rankings), node_.limit);
    }
    QV_TRY(const auto predicate, compile_filter(node_, environment));
    const std::array queries = {&query.prepared};
    const std::array limits = {n_candidates(node_.limit)};
    QV_TRY(auto candidates,
           search_segments(environment, {queries, limits, query.field, predicate.get(),
                                         node_.query.params, node_.query.recall.get()}));
    if (candidates[0].size() > node_.limit) candidates[0].resize(node_.limit);
    return Ranking{std::move(candidates[0]), query.prepared.schema().metric};
  }

 private:
  [[nodiscard]] Result<FieldQuery> average_query(const SearchEnvironment& environment) const {
    const auto& params = node_.query.params;
    QV_TRY(const std::size_t field, environment.config.field(node_.query.using_field));
    QV_TRY(const auto values, values_of(environment, field, vectors_of(recommend_)));
    VectorValue average = average_of(values, recommend_.positive.size());
    QV_TRY(weigh_value(environment, field, params, average));
    QV_TRY(auto prepared,
           prepare_value(environment.config.fields[field], average, params.token_weights));
    return FieldQuery{field, std::move(prepared)};
  }

  const Recommend& recommend_;
  const PlanNode node_;
};

template <class Kind>
StagePtr examples_stage(const Kind& kind, PlanNode node) {
  const Query& query = node.query;
  return with_threshold(query, std::make_unique<ExamplesStage<Kind>>(kind, std::move(node)));
}

template <class Kind>
void add_points(const Kind& kind, std::vector<PointId>& ids) {
  for (const QueryVector* vector : vectors_of(kind)) {
    if (const auto* id = std::get_if<PointId>(vector)) ids.push_back(*id);
  }
  ids.insert(ids.end(), kind.own.begin(), kind.own.end());
}

}  // namespace

StagePtr make_stage(const Recommend& kind, PlanNode node) {
  if (kind.strategy != RecommendStrategy::kAverageVector) {
    return examples_stage(kind, std::move(node));
  }
  const Query& query = node.query;
  return with_threshold(query, std::make_unique<AverageStage>(kind, std::move(node)));
}
StagePtr make_stage(const Discover& kind, PlanNode node) {
  return examples_stage(kind, std::move(node));
}
StagePtr make_stage(const Context& kind, PlanNode node) {
  return examples_stage(kind, std::move(node));
}
StagePtr make_stage(const RelevanceFeedback& kind, PlanNode node) {
  return examples_stage(kind, std::move(node));
}

void add_named_points(const Recommend& kind, std::vector<PointId>& ids) { add_points(kind, ids); }
void add_named_points(const Discover& kind, std::vector<PointId>& ids) { add_points(kind, ids); }
void add_named_points(const Context& kind, std::vector<PointId>& ids) { add_points(kind, ids); }
void add_named_points(const RelevanceFeedback& kind, std::vector<PointId>& ids) {
  add_points(kind, ids);
}

}  // namespace quiver::engine

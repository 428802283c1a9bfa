// Points scored by formulas, against a loop over the points of the prefetches.
#include <map>
#include <random>

#include "engine/query/formula/evaluator.h"
#include "engine/query/stages/stages.h"
#include "tests/engine/query/support.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

using formula::Constant;
using formula::Expression;
using formula::ValueType;

Expression sum_of(std::vector<Expression> operands) {
  return {formula::Sum{}, std::move(operands)};
}
Expression times(double factor, Expression operand) {
  return {formula::Product{}, {{Constant{factor}}, std::move(operand)}};
}

/// $score[0] + 100 * $score[1] + 1000 * n + 10000 * (odd).
Formula mixed_formula() {
  Formula formula;
  formula.variables = {{payload::JsonPath::parse("n").value(), ValueType::kNumber}};
  formula.conditions = only_odd().must;
  formula.root = sum_of({{formula::Score{0}},
                         times(100, {formula::Score{1}}),
                         times(1000, {formula::Number{0}}),
                         times(10000, {formula::Holds{0}})});
  return formula;
}

Query query_of(Formula formula, std::vector<Query> prefetches) {
  Query query;
  query.kind = std::move(formula);
  query.prefetch = std::move(prefetches);
  return query;
}

std::vector<std::pair<std::uint64_t, float>> hits_of(const NumbersWorld& world,
                                                     const Query& query) {
  std::vector<std::pair<std::uint64_t, float>> hits;
  const auto answer = Plan(query).run(world.environment());
  EXPECT_TRUE(answer) << answer.error().message();
  for (const auto& record : answer.value()) hits.emplace_back(record.id.low(), record.score);
  return hits;
}
using Hits = std::vector<std::pair<std::uint64_t, float>>;

std::string failure_of(const NumbersWorld& world, const Query& query) {
  const auto answer = Plan(query).run(world.environment());
  return answer ? "none" : answer.error().message();
}

TEST(FormulaStage, ScoresEachPointOfAnyPrefetch) {
  const NumbersWorld world;
  // dot finds 8 and 7 with scores 8 and 7, far finds 1 and 2 at distances 0 and 1.
  Query query =
      query_of(mixed_formula(), {nearest_number("dot", 1, 2), nearest_number("far", 1, 2)});
  EXPECT_EQ(hits_of(world, query), (Hits{{7, 17007}, {1, 11000}, {8, 8008}, {2, 2100}}))
      << "a distance counts as it is shown";
  std::get<Formula>(query.kind).default_scores = {{0, 0.5}, {1, 9}};
  EXPECT_EQ(hits_of(world, query), (Hits{{7, 17907}, {1, 11000.5}, {8, 8908}, {2, 2100.5}}));
  query.limit = 2;
  query.offset = 1;
  EXPECT_EQ(hits_of(world, query), (Hits{{1, 11000.5}, {8, 8908}}));
}

TEST(FormulaStage, FiltersHoldForThePrefetches) {
  const NumbersWorld world;
  Query query = query_of({{formula::Score{0}}}, {nearest_number("dot", 1, 2)});
  query.filter = only_odd();
  EXPECT_EQ(hits_of(world, query), (Hits{{7, 7}, {5, 5}}));
  payload::Filter not_seven;
  not_seven.must_not = {payload::HasId{{PointId::number(7)}}};
  query.prefetch[0].filter = not_seven;
  EXPECT_EQ(hits_of(world, query), (Hits{{5, 5}, {3, 3}}));
}

TEST(FormulaStage, EqualScoresAreOrderedById) {
  const NumbersWorld world;
  const Query query = query_of({{Constant{2}}}, {nearest_number("dot", 1, 5)});
  EXPECT_EQ(hits_of(world, query), (Hits{{4, 2}, {5, 2}, {6, 2}, {7, 2}, {8, 2}}));
}

TEST(FormulaStage, AScoreThatEqualsTheThresholdIsAHit) {
  const NumbersWorld world;
  Query query = query_of({{formula::Score{0}}}, {nearest_number("far", 1, 5)});
  query.score_threshold = 3.0F;
  EXPECT_EQ(hits_of(world, query), (Hits{{5, 4}, {4, 3}})) << "the larger score is the better one";
}

TEST(FormulaStage, WorksOnEveryKindOfPrefetch) {
  const NumbersWorld world;
  const Query fused = [] {
    Query query;
    query.kind = Rrf{};
    query.prefetch = {nearest_number("dot", 1, 2), nearest_number("far", 8, 1)};
    return query;
  }();
  EXPECT_EQ(hits_of(world, query_of({{formula::Score{0}}}, {fused})),
            (Hits{{8, 1}, {7, 1.0F / 3}}));
  Query listed;
  listed.limit = 2;
  EXPECT_EQ(hits_of(world, query_of({{formula::Score{0}}}, {listed})), (Hits{{1, 1}, {2, 1}}));
  Query words;
  words.kind = Nearest{SparseVector{{103, 104}, {1, 2}}};
  words.using_field = "words";
  EXPECT_EQ(
      hits_of(world, query_of({sum_of({{formula::Score{0}}, {Constant{1}}})}, {words})).size(), 2U);
  Query tokens;
  tokens.kind = Nearest{MultiVector{1, 2, {1, 0}}};
  tokens.using_field = "tokens";
  tokens.limit = 2;
  EXPECT_EQ(hits_of(world, query_of({times(2, {formula::Score{0}})}, {tokens})),
            (Hits{{8, 16}, {7, 14}}));
  const Query inner = query_of({times(-1, {formula::Score{0}})}, {nearest_number("dot", 1, 3)});
  Query outer = query_of({times(2, {formula::Score{0}})}, {inner});
  EXPECT_EQ(hits_of(world, outer), (Hits{{6, -12}, {7, -14}, {8, -16}}))
      << "a formula of a formula";
  Query rescored = nearest_number("far", 1, 1);
  rescored.prefetch = {outer};
  EXPECT_EQ(hits_of(world, rescored), (Hits{{6, 5}}));
  OrderBy order;
  order.key = "n";
  Query ordered;
  ordered.kind = order;
  ordered.limit = 2;
  const Query over_order = query_of({{formula::Score{0}}}, {ordered});
  const auto records = Plan(over_order).run(world.environment()).value();
  EXPECT_EQ(numbers_of(records), (Numbers{1, 2}));
  EXPECT_FALSE(records[0].order_value) << "it is ordered by score";
}

TEST(FormulaStage, WithoutPointsThereIsNothingToScore) {
  const NumbersWorld world;
  Query query = query_of(mixed_formula(), {nearest_number("dot", 1, 2)});
  query.filter.emplace().must = {payload::HasId{{PointId::number(77)}}};
  EXPECT_EQ(hits_of(world, query), Hits{});
}

TEST(FormulaStage, RefusesWhatItCannotScore) {
  const NumbersWorld world;
  EXPECT_EQ(failure_of(world, query_of(mixed_formula(), {})),
            "Validation failed: cannot apply Formula without prefetches");
  EXPECT_NE(failure_of(world, query_of(mixed_formula(), {nearest_number("nosuch", 1, 2)})), "none");
  Formula fails = mixed_formula();
  fails.variables[0].path = payload::JsonPath::parse("odd").value();
  Query listed;
  EXPECT_EQ(
      failure_of(world, query_of(fails, {listed})),
      "Expected number value for odd in the payload and/or in the formula defaults. Error: No "
      "value found in a payload nor defaults")
      << "of point 9";
  Formula malformed = mixed_formula();
  malformed.conditions = {payload::FieldCondition{"a[", payload::IsNull{}}};
  EXPECT_NE(failure_of(world, query_of(malformed, {nearest_number("dot", 1, 2)})), "none");
  world.cancel.cancel();
  EXPECT_FALSE(
      Plan(query_of(mixed_formula(), {nearest_number("dot", 1, 2)})).run(world.environment()));
}

/// Points with random payloads, in one segment or dealt out to many.
struct RandomWorld {
  RandomWorld(std::uint64_t seed, std::size_t n_points) : random(seed), config(numbers_config()) {
    for (std::uint64_t number = 1; number <= n_points; ++number) {
      Row row = number_row(random() % 1000, config);
      row.id = PointId::number(number);
      row.payload = payload();
      rows.push_back(std::move(row));
    }
  }
  std::string payload() {
    std::string text = "{\"a\":" + std::to_string(random() % 9);
    if (random() % 2 == 0) text += ",\"b\":[" + std::to_string(random() % 9) + ".25]";
    if (random() % 3 != 0) text += ",\"tag\":[\"t" + std::to_string(random() % 3) + "\"]";
    if (random() % 4 != 0) text += ",\"n\":" + std::to_string(random() % 5);
    return text + "}";
  }
  /// One segment of each of `n_parts` shards.
  [[nodiscard]] Snapshot dealt(std::size_t n_parts) const {
    std::vector<std::vector<Row>> parts(n_parts);
    for (std::size_t i = 0; i < rows.size(); ++i) parts[i * 7 % n_parts].push_back(rows[i]);
    std::vector<std::shared_ptr<const SegmentSet>> shards;
    for (const auto& part : parts) {
      auto set = std::make_shared<SegmentSet>();
      set->segments = {segment_of_rows(part, config, shards.size() + 1)};
      shards.push_back(std::move(set));
    }
    return Snapshot(std::move(shards));
  }

  Random random;
  CollectionConfig config;
  std::vector<Row> rows;
};

/// Sums of products over scores, payload values with defaults, and conditions on indexed and other
/// keys.
Formula random_formula(Random& random) {
  Formula formula;
  for (const char* key : {"a", "b", "n"}) {
    formula.variables.push_back({payload::JsonPath::parse(key).value(), ValueType::kNumber});
    formula.variables.back().otherwise = payload::Value(static_cast<std::int64_t>(random() % 5));
  }
  formula.default_scores[random() % 3] = -1;
  const auto scalar = payload::MatchScalar(static_cast<std::int64_t>(random() % 5));
  payload::Range range;
  range.lt = payload::Number(static_cast<std::int64_t>(random() % 9));
  payload::HasId ids;
  for (int i = 0; i < 20; ++i) ids.ids.push_back(PointId::number(random() % 200));
  formula.conditions = {
      payload::FieldCondition{"n", payload::MatchValue{scalar}},
      payload::FieldCondition{"a", range},
      payload::FieldCondition{"tag", payload::MatchAny{{std::string("t1"), std::string("t2")}}},
      payload::FieldCondition{"tag", payload::IsEmpty{}},
      ids,
      payload::HasVector{"dot"}};
  std::vector<Expression> summands;
  for (int i = 0; i < 5; ++i) {
    const std::vector<formula::Node> nodes = {formula::Score{random() % 3},
                                              formula::Number{random() % 3},
                                              formula::Holds{random() % formula.conditions.size()}};
    const double factor = static_cast<double>(random() % 100) / 16;
    summands.push_back(times(factor, {nodes[random() % nodes.size()]}));
  }
  formula.root = sum_of(std::move(summands));
  return formula;
}

/// A point as a formula sees it, from its row and the rankings alone.
class RowPoint final : public FormulaPoint {
 public:
  RowPoint(const Row& row, const std::vector<std::map<PointId, float>>& scores,
           const Formula& formula, const CollectionConfig& config)
      : row_(row), scores_(scores), formula_(formula), config_(config) {}
  [[nodiscard]] std::optional<float> score(std::uint64_t prefetch) const override {
    if (prefetch >= scores_.size() || !scores_[prefetch].contains(row_.id)) return std::nullopt;
    return scores_[prefetch].at(row_.id);
  }
  [[nodiscard]] Result<const payload::Value*> document() override { return &document_; }
  [[nodiscard]] bool holds(std::size_t condition) const override {
    payload::Filter filter;
    filter.must = {formula_.conditions[condition]};
    return payload::compile(filter, config_.indexes)
        .value()
        ->matches(document_, row_.id, [](std::string_view /*name*/) { return true; });
  }
  [[nodiscard]] bool is_indexed(std::size_t variable) const override {
    const std::string key = formula_.variables[variable].path.to_string();
    return std::any_of(config_.indexes.begin(), config_.indexes.end(),
                       [&](const payload::FieldIndex& index) { return index.key == key; });
  }

 private:
  const Row& row_;
  const std::vector<std::map<PointId, float>>& scores_;
  const Formula& formula_;
  const CollectionConfig& config_;
  payload::Value document_ = payload::parse_json(row_.payload).value();
};

Hits plan_hits(const SearchEnvironment& environment, const Query& query) {
  Hits hits;
  const auto records = Plan(query).run(environment).value();
  for (const auto& record : records) hits.emplace_back(record.id.low(), record.score);
  return hits;
}

Hits reference_hits(const RandomWorld& world, const SearchEnvironment& environment,
                    const Query& query) {
  std::vector<std::map<PointId, float>> scores;
  for (const auto& prefetch : query.prefetch) {
    auto& by_id = scores.emplace_back();
    const auto records = Plan(prefetch).run(environment).value();
    for (const auto& record : records) by_id[record.id] = record.score;
  }
  const auto& formula = std::get<Formula>(query.kind);
  std::vector<std::pair<float, std::uint64_t>> ranked;
  for (const Row& row : world.rows) {
    if (!scores[0].contains(row.id) && !scores[1].contains(row.id)) continue;
    RowPoint point(row, scores, formula, world.config);
    ranked.emplace_back(-evaluate(formula, point).value(), row.id.low());
  }
  std::sort(ranked.begin(), ranked.end());
  Hits hits;
  for (const auto& [negated, number] : ranked) {
    if (hits.size() < query.limit) hits.emplace_back(number, -negated);
  }
  return hits;
}

TEST(FormulaStage, RandomFormulasScoreAsALoopDoesOverAnyNumberOfShards) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomWorld world(seed, 200);
    const Cancel cancel;
    const Snapshot one = world.dealt(1);
    const Snapshot many = world.dealt(5);
    Query query = query_of(random_formula(world.random),
                           {nearest_number("dot", 1, 40), nearest_number("far", 500, 60)});
    query.limit = 1 + world.random() % 120;
    Hits hits[2];
    for (const Snapshot* snapshot : {&one, &many}) {
      const SearchEnvironment environment{*snapshot, world.config, cancel};
      auto& found = hits[snapshot == &many ? 1 : 0];
      found = plan_hits(environment, query);
      EXPECT_EQ(found, reference_hits(world, environment, query)) << "seed " << seed;
    }
    EXPECT_EQ(hits[0], hits[1]) << "seed " << seed;
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(FormulaStage, ScoresMorePointsThanABlockHolds) {
  RandomWorld world(3, 5000);
  const Cancel cancel;
  const Snapshot snapshot = world.dealt(3);
  const SearchEnvironment environment{snapshot, world.config, cancel};
  Query all;
  all.limit = 5000;
  Query query = query_of(random_formula(world.random), {all, nearest_number("dot", 1, 10)});
  query.limit = 5000;
  EXPECT_EQ(plan_hits(environment, query), reference_hits(world, environment, query));
}

}  // namespace
}  // namespace quiver::engine::testing

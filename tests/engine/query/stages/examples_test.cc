// Queries by examples, against a loop over all points that follows the formulas.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "base/threads/executor.h"
#include "engine/indexing/indexes.h"
#include "engine/query/stages/field_query.h"
#include "engine/segment/segment_file.h"
#include "index/exact/searcher.h"
#include "tests/engine/query/support.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

using Floats = std::vector<float>;

CollectionConfig every_field() {
  using enum FieldKind;
  CollectionConfig config;
  const auto none = SparseModifier::kNone;
  config.fields = {
      {"cosine", kDense, 6, DType::kF32, Metric::kCosine, none},
      {"dot", kDense, 4, DType::kF16, Metric::kDot, none},
      {"euclid", kDense, 4, DType::kF32, Metric::kEuclid, none},
      {"manhattan", kDense, 3, DType::kF32, Metric::kManhattan, none},
      {"bytes", kDense, 4, DType::kU8, Metric::kCosine, none},
      {"far bytes", kDense, 4, DType::kU8, Metric::kEuclid, none},
      {"words", kSparse, 0, DType::kF32, Metric::kDot, none},
      {"rare words", kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kIdf},
      {"tokens", kMulti, 3, DType::kF32, Metric::kDot, none},
      {"far tokens", kMulti, 2, DType::kF32, Metric::kEuclid, none},
  };
  return config;
}

/// Points over three growing segments; some rows are deleted, some vectors missing.
struct ExamplesWorld {
  explicit ExamplesWorld(std::uint64_t seed) : random(seed), snapshot(make_snapshot()) {}

  Snapshot make_snapshot() {
    std::vector<Segment> segments;
    std::set<PointId> used;
    for (std::uint64_t part = 1; part <= 3; ++part) {
      auto rows = random_rows(30 + random() % 40, config.fields, random);
      std::erase_if(rows, [&](const Row& row) { return !used.insert(row.id).second; });
      std::vector<std::uint32_t> deleted;
      for (std::uint32_t i = 0; i < rows.size(); ++i) {
        if (random() % 6 == 0) {
          deleted.push_back(i);
        } else {
          live[rows[i].id] = rows[i];
        }
      }
      segments.push_back(with_deleted(segment_of(rows, config.fields, part), deleted));
    }
    return snapshot_of(std::move(segments));
  }
  [[nodiscard]] SearchEnvironment environment() const {
    return {snapshot, config, cancel, executor};
  }

  Random random;
  CollectionConfig config = every_field();
  Cancel cancel;
  Executor* executor = nullptr;
  std::map<PointId, Row> live;
  Snapshot snapshot;
};

/// The slow way.
class ExamplesReference {
 public:
  ExamplesReference(const ExamplesWorld& world, const Query& query) : world_(world), query_(query) {
    while (world.config.fields[field_].name != query.using_field) ++field_;
  }

  /// In the order of answers, all of them.
  [[nodiscard]] std::vector<Record> hits() const {
    std::vector<Record> hits;
    for (const PointId& id : eligible()) {
      const auto score = score_of(id);
      if (!score) continue;
      Record hit;
      hit.id = id;
      hit.score = *score;
      hits.push_back(hit);
    }
    const bool is_up = is_average() && is_distance(schema().metric);
    std::sort(hits.begin(), hits.end(), [&](const Record& a, const Record& b) {
      if (a.score != b.score) return is_up ? a.score < b.score : a.score > b.score;
      return a.id < b.id;
    });
    return hits;
  }

 private:
  [[nodiscard]] const FieldSchema& schema() const { return world_.config.fields[field_]; }
  [[nodiscard]] bool is_average() const {
    const auto* recommend = std::get_if<Recommend>(&query_.kind);
    return recommend != nullptr && recommend->strategy == RecommendStrategy::kAverageVector;
  }

  [[nodiscard]] std::vector<PointId> eligible() const {
    std::vector<PointId> ids;
    std::set<PointId> named;
    const auto name = [&](const QueryVector& vector) {
      if (const auto* id = std::get_if<PointId>(&vector)) named.insert(*id);
    };
    each_vector(name);
    const std::uint64_t n = query_.prefetch.empty() ? world_.live.size() : query_.prefetch[0].limit;
    for (const auto& [id, row] : world_.live) {
      if (named.contains(id)) continue;
      if (query_.filter && row.payload.find("word1") == std::string::npos) continue;
      if (ids.size() < n) ids.push_back(id);
    }
    return ids;
  }
  void each_vector(const std::function<void(const QueryVector&)>& visit) const {
    if (const auto* recommend = std::get_if<Recommend>(&query_.kind)) {
      for (const auto& vector : recommend->positive) visit(vector);
      for (const auto& vector : recommend->negative) visit(vector);
    }
    if (const auto* feedback = std::get_if<RelevanceFeedback>(&query_.kind)) {
      visit(feedback->target);
      for (const auto& item : feedback->feedback) visit(item.example);
    }
    const auto* discover = std::get_if<Discover>(&query_.kind);
    if (discover != nullptr) visit(discover->target);
    const auto* context = std::get_if<Context>(&query_.kind);
    if (discover == nullptr && context == nullptr) return;
    for (const auto& pair : discover != nullptr ? discover->pairs : context->pairs) {
      visit(pair.positive);
      visit(pair.negative);
    }
  }

  /// nullopt: no hit of a nearest query.
  [[nodiscard]] std::optional<float> raw(const QueryVector& example, const PointId& id) const {
    const auto query =
        field_query(world_.environment(), query_.using_field, Nearest{example}, {}).value();
    const auto place = world_.snapshot.find(id).value();
    return index::score_row(query.prepared, place.segment->data->fields[field_], place.row);
  }
  [[nodiscard]] float like(const QueryVector& example, const PointId& id) const {
    return raw(example, id).value_or(0.0F);
  }
  static float sigmoid(float x) { return x / (1 + std::abs(x)); }
  static float moved_sigmoid(float x) { return 0.5F * (sigmoid(x) + 1); }

  [[nodiscard]] std::optional<float> score_of(const PointId& id) const {
    if (!is_present(world_.live.at(id).vectors[field_])) return std::nullopt;
    return std::visit([&](const auto& kind) { return score(kind, id); }, query_.kind);
  }
  template <class Kind>
  [[nodiscard]] std::optional<float> score(const Kind&, const PointId&) const {
    ADD_FAILURE();
    return std::nullopt;
  }
  [[nodiscard]] std::optional<float> score(const Recommend& recommend, const PointId& id) const {
    if (recommend.strategy == RecommendStrategy::kAverageVector) return average(recommend, id);
    constexpr float kNone = -std::numeric_limits<float>::infinity();
    float best_positive = kNone, best_negative = kNone, sum = 0;
    for (const auto& example : recommend.positive) {
      best_positive = std::max(best_positive, like(example, id));
      sum += like(example, id);
    }
    for (const auto& example : recommend.negative) {
      best_negative = std::max(best_negative, like(example, id));
      sum -= like(example, id);
    }
    if (recommend.strategy == RecommendStrategy::kSumScores) return sum;
    return best_positive > best_negative ? moved_sigmoid(best_positive)
                                         : -moved_sigmoid(best_negative);
  }
  [[nodiscard]] std::optional<float> score(const Discover& discover, const PointId& id) const {
    float score = moved_sigmoid(like(discover.target, id));
    for (const auto& pair : discover.pairs) {
      const float positive = like(pair.positive, id), negative = like(pair.negative, id);
      score += positive > negative ? 1.0F : positive < negative ? -1.0F : 0.0F;
    }
    return score;
  }
  [[nodiscard]] std::optional<float> score(const Context& context, const PointId& id) const {
    float score = 0;
    for (const auto& pair : context.pairs) {
      const float lead =
          like(pair.positive, id) - like(pair.negative, id) - std::numeric_limits<float>::epsilon();
      score += sigmoid(std::min(lead, 0.0F));
    }
    return score;
  }
  [[nodiscard]] std::optional<float> score(const RelevanceFeedback& query,
                                           const PointId& id) const {
    double score = query.a * like(query.target, id);
    for (const auto& good : query.feedback) {
      for (const auto& bad : query.feedback) {
        const double confidence = good.score - bad.score;
        if (confidence <= 0) continue;
        score += std::pow(confidence, query.b) * query.c *
                 (like(good.example, id) - like(bad.example, id));
      }
    }
    return static_cast<float>(score);
  }

  [[nodiscard]] VectorValue value_of(const QueryVector& example) const {
    if (const auto* value = std::get_if<VectorValue>(&example)) return *value;
    return to_value(schema(), world_.live.at(std::get<PointId>(example)).vectors[field_]);
  }
  /// The nearest query for the averaged vector.
  [[nodiscard]] std::optional<float> average(const Recommend& recommend, const PointId& id) const {
    if (schema().kind == FieldKind::kMulti) {
      MultiVector joined{0, schema().dim, {}};
      const auto join = [&](const QueryVector& example, float sign) {
        const auto tokens = std::get<MultiVector>(value_of(example));
        joined.n_tokens += tokens.n_tokens;
        for (const float value : tokens.values) joined.values.push_back(sign * value);
      };
      for (const auto& example : recommend.positive) join(example, 1);
      for (const auto& example : recommend.negative) join(example, -1);
      return shown(raw(VectorValue(joined), id));
    }
    std::map<std::uint32_t, double> sum;
    const auto add = [&](const QueryVector& example, double factor) {
      const auto value = value_of(example);
      if (const auto* dense = std::get_if<DenseVector>(&value)) {
        for (std::uint32_t d = 0; d < dense->size(); ++d) sum[d] += factor * (*dense)[d];
        return;
      }
      const auto& sparse = std::get<SparseVector>(value);
      for (std::size_t i = 0; i < sparse.indices.size(); ++i) {
        sum[sparse.indices[i]] += factor * sparse.values[i];
      }
    };
    const double n = static_cast<double>(recommend.positive.size());
    const double n_negative = static_cast<double>(recommend.negative.size());
    for (const auto& example : recommend.positive) add(example, (n_negative > 0 ? 2 : 1) / n);
    for (const auto& example : recommend.negative) add(example, -1 / n_negative);
    DenseVector dense;
    SparseVector sparse;
    for (const auto& [index, value] : sum) {
      dense.push_back(static_cast<float>(value));
      sparse.indices.push_back(index);
      sparse.values.push_back(static_cast<float>(value));
    }
    const bool is_sparse = schema().kind == FieldKind::kSparse;
    return shown(raw(is_sparse ? VectorValue(sparse) : VectorValue(dense), id));
  }
  [[nodiscard]] std::optional<float> shown(std::optional<float> score) const {
    return score ? std::optional(shown_score(schema().metric, *score)) : std::nullopt;
  }

  const ExamplesWorld& world_;
  const Query& query_;
  std::size_t field_ = 0;
};

/// Makes queries for the points of a world.
class QueryMaker {
 public:
  explicit QueryMaker(ExamplesWorld& world) : world_(world) {}

  Query any() {
    Query query;
    field_ = random() % world_.config.fields.size();
    query.using_field = world_.config.fields[field_].name;
    query.kind = any_kind();
    query.limit = 1 + random() % 30;
    query.params.exact = random() % 2 == 0;
    if (random() % 3 == 0) {
      query.filter.emplace().must = {
          payload::FieldCondition{"s", payload::MatchValue{payload::MatchScalar("word1")}}};
    }
    if (random() % 3 == 0) {
      query.prefetch.resize(1);
      query.prefetch[0].limit = 1 + random() % 60;
    }
    return query;
  }

 private:
  std::uint64_t random() { return world_.random(); }

  QueryVector any_vector() {
    const auto& schema = world_.config.fields[field_];
    if (random() % 2 == 0) return random_value(schema, world_.random);
    while (true) {
      auto point = world_.live.begin();
      std::advance(point, random() % world_.live.size());
      if (is_present(point->second.vectors[field_])) return point->first;
    }
  }
  std::vector<QueryVector> vectors(std::uint64_t least) {
    std::vector<QueryVector> vectors(least + random() % 4);
    for (auto& vector : vectors) vector = any_vector();
    return vectors;
  }
  std::vector<ContextPair> pairs() {
    std::vector<ContextPair> pairs(random() % 5);
    for (auto& pair : pairs) pair = {any_vector(), any_vector()};
    return pairs;
  }
  QueryKind any_kind() {
    switch (random() % 6) {
      case 0:
        return Recommend{vectors(1), vectors(0), RecommendStrategy::kAverageVector};
      case 1:
        return Recommend{vectors(1), vectors(0), RecommendStrategy::kBestScore};
      case 2:
        return Recommend{vectors(0), vectors(1), RecommendStrategy::kSumScores};
      case 3:
        return Discover{any_vector(), pairs()};
      case 4:
        return Context{pairs()};
      default:
        break;
    }
    RelevanceFeedback query{any_vector(), {}, 1.5F, 0.7F, -0.4F};
    for (const auto& vector : vectors(0)) {
      query.feedback.push_back({vector, static_cast<float>(random() % 5)});
    }
    return query;
  }

  ExamplesWorld& world_;
  std::size_t field_ = 0;
};

void expect_answer(const std::vector<Record>& answer, const std::vector<Record>& all,
                   std::uint64_t limit) {
  ASSERT_EQ(answer.size(), std::min<std::size_t>(limit, all.size()));
  std::map<PointId, float> expected;
  for (const auto& hit : all) expected[hit.id] = hit.score;
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const float tolerance = 2e-5F * (1 + std::abs(all[i].score));
    EXPECT_NEAR(answer[i].score, all[i].score, tolerance) << i;
    ASSERT_TRUE(expected.contains(answer[i].id)) << answer[i].id.to_string();
    EXPECT_NEAR(answer[i].score, expected[answer[i].id], tolerance) << i;
    if (i == 0 || answer[i - 1].score != answer[i].score) continue;
    EXPECT_LT(answer[i - 1].id, answer[i].id) << "ties by id";
  }
}

TEST(ExamplesStage, AnswersAsTheFormulasSay) {
  Executor executor(3, "examples");
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    ExamplesWorld world(seed);
    QueryMaker maker(world);
    for (int i = 0; i < 40; ++i) {
      const Query query = maker.any();
      world.executor = world.random() % 2 == 0 ? &executor : nullptr;
      const auto answer = Plan(query).run(world.environment());
      ASSERT_TRUE(answer) << answer.error().message();
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", query " << i << ", kind "
                                        << query.kind.index() << " of " << query.using_field);
      expect_answer(*answer, ExamplesReference(world, query).hits(), query.limit);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ExamplesStage, KeepsToTheThresholdAlsoUnderDistances) {
  ExamplesWorld world(5);
  Query query;
  query.using_field = "euclid";
  query.kind = Recommend{{DenseVector{0, 0, 0, 0}}, {}, RecommendStrategy::kBestScore};
  query.limit = 1000;
  const auto all = Plan(query).run(world.environment()).value();
  query.score_threshold = all.at(9).score;
  EXPECT_EQ(Plan(query).run(world.environment()).value().size(), 9U);
}

TEST(ExamplesStage, PointsThatVectorsWereLookedUpFromAreNoHits) {
  const NumbersWorld world;
  Query query = nearest_number("dot", 1, 3);
  query.kind = Recommend{{DenseVector{1}}, {}, {}, {PointId::number(8)}};
  EXPECT_EQ(numbers_of(Plan(query).run(world.environment()).value()), (Numbers{7, 6, 5}));
  query.kind = Discover{DenseVector{1}, {}, {PointId::number(7)}};
  EXPECT_EQ(numbers_of(Plan(query).run(world.environment()).value()), (Numbers{8, 6, 5}));
}

std::string error_of(const NumbersWorld& world, const std::string& field, QueryKind kind) {
  Query query;
  query.using_field = field;
  query.kind = std::move(kind);
  const auto answer = Plan(query).run(world.environment());
  return answer ? "none" : answer.error().message();
}

TEST(ExamplesStage, RefusesWhatItCannotAnswer) {
  const NumbersWorld world;
  using enum RecommendStrategy;
  const QueryVector one = DenseVector{1};
  EXPECT_EQ(error_of(world, "dot", Recommend{{}, {one}, kAverageVector}),
            "Positive vectors should not be empty with `average` strategy");
  EXPECT_EQ(error_of(world, "dot", Recommend{{}, {}, kSumScores}),
            "At least one positive or negative vector/id must be provided");
  EXPECT_EQ(error_of(world, "dot", Recommend{{}, {one}, kSumScores}), "none");
  EXPECT_EQ(error_of(world, "dot", Recommend{{PointId::number(77)}, {}, kBestScore}),
            "No point with id 77 found");
  EXPECT_NE(error_of(world, "dot", Context{{{one, PointId::number(9)}}}).find("has no vector"),
            std::string::npos);
  EXPECT_NE(error_of(world, "dot", Discover{DenseVector{1, 2}, {}}).find("got 2"),
            std::string::npos);
  EXPECT_NE(error_of(world, "nosuch", Discover{one, {}}), "none");
  const std::vector<QueryVector> many(16'385, one);
  EXPECT_EQ(error_of(world, "dot", Recommend{many, {}, kBestScore}),
            "the query has 16385 examples, must be at most 16384");
}

TEST(ExamplesStage, StopsWhenCancelled) {
  ExamplesWorld world(3);
  QueryMaker maker(world);
  world.cancel.cancel();
  for (int i = 0; i < 20; ++i) {
    const Query query = maker.any();
    const auto stopped = Plan(query).run(world.environment());
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code(), Code::kCancelled);
  }
}

TEST(IdfCorpus, CountsOnlyItsPoints) {
  const NumbersWorld world;
  payload::Filter corpus = only_odd();
  Query query;
  query.using_field = "words";
  query.kind = Nearest{SparseVector{{1, 103}, {1, 1}}};
  query.params.idf_corpus = std::make_shared<const payload::Filter>(corpus);
  const auto answer = Plan(query).run(world.environment()).value();
  // Of the four odd points all hold index 1, and one holds 103.
  const double everywhere = std::log((4 - 4 + 0.5) / (4 + 0.5) + 1);
  const double rare = std::log((4 - 1 + 0.5) / (1 + 0.5) + 1);
  ASSERT_EQ(answer.size(), 8U);
  EXPECT_EQ(answer[0].id, PointId::number(3));
  EXPECT_NEAR(answer[0].score, everywhere + rare, 1e-6);
  EXPECT_NEAR(answer[1].score, everywhere, 1e-6);
  query.using_field = "dot";
  query.kind = Nearest{DenseVector{1}};
  const auto refused = Plan(query).run(world.environment());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "`idf` is for sparse vectors with the `idf` modifier, vector `dot` has none");
}

}  // namespace
}  // namespace quiver::engine::testing

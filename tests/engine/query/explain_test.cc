// Which tokens meet: against loops over the stored values, for every metric and type of value.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/database.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint32_t kTokenDim = 9;
constexpr std::uint64_t kDocuments = 40;
constexpr std::uint64_t kExplainSeed = 11;
constexpr const char* kTokenField = "tokens";

/// In f64, as a user sees it, so that what is less under a distance is better.
double similarity(Metric metric, const float* a, const float* b) {
  double dot = 0, squares_a = 0, squares_b = 0, l2 = 0, l1 = 0;
  for (std::uint32_t d = 0; d < kTokenDim; ++d) {
    dot += double{a[d]} * b[d];
    squares_a += double{a[d]} * a[d];
    squares_b += double{b[d]} * b[d];
    l2 += (double{a[d]} - b[d]) * (double{a[d]} - b[d]);
    l1 += std::abs(double{a[d]} - b[d]);
  }
  if (metric == Metric::kEuclid) return std::sqrt(l2);
  if (metric == Metric::kManhattan) return l1;
  const double lengths = std::sqrt(squares_a * squares_b);
  if (metric == Metric::kDot || lengths == 0) return dot;
  return dot / lengths;
}

class Explain : public ::testing::TestWithParam<std::tuple<Metric, DType>> {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_explain_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    DatabaseOptions options;
    options.data_dir = root_.string();
    database_ = Database::open(options).value();
    CollectionConfig config;
    config.fields = {field(), {"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, {}}};
    config.optimizer.seal_rows = 16;  // some sealed, some not
    config.shard_number = 2;
    ASSERT_TRUE(database_->create_collection("points", config));
    collection_ = database_->collection("points").value();
    insert();
  }
  void TearDown() override {
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
    std::filesystem::remove_all(root_);
  }

  static FieldSchema field() {
    return {kTokenField,
            FieldKind::kMulti,
            kTokenDim,
            std::get<DType>(GetParam()),
            std::get<Metric>(GetParam()),
            {}};
  }
  MultiVector tokens(std::uint32_t n) {
    return {n, kTokenDim, random_floats(std::size_t{n} * kTokenDim, field().dtype, random_)};
  }
  /// Point 0 lacks the vector, point 1 has more tokens than a block, point 2 has two alike.
  void insert() {
    Upsert upsert;
    for (std::uint64_t i = 0; i < kDocuments; ++i) {
      auto& point = upsert.points.emplace_back();
      point.id = PointId::number(i);
      if (i == 0) continue;
      auto value = tokens(i == 1 ? 600 : static_cast<std::uint32_t>(1 + random_() % 20));
      if (i == 2) value = twice(value);
      point.vectors = {{kTokenField, std::move(value)}};
    }
    std::promise<Result<std::vector<UpdateResult>>> done;
    ASSERT_TRUE(collection_->update({std::move(upsert)}, Ack::kVisible,
                                    [&](auto result) { done.set_value(std::move(result)); }));
    ASSERT_TRUE(done.get_future().get());
  }
  static MultiVector twice(MultiVector value) {
    value.values.insert(value.values.end(), value.values.begin(), value.values.end());
    value.n_tokens *= 2;
    return value;
  }

  [[nodiscard]] Result<std::vector<Explanation>> explain(QueryVector query,
                                                         std::vector<std::uint64_t> numbers,
                                                         const char* name = kTokenField) const {
    ExplainRequest request{std::move(query), name, {}};
    for (const auto number : numbers) request.ids.push_back(PointId::number(number));
    const Cancel cancel;
    return collection_->explain(request, cancel);
  }
  [[nodiscard]] std::optional<MultiVector> stored(std::uint64_t number) const {
    RetrieveRequest request{{PointId::number(number)}, payload::Selector::none(), {true, {}}};
    const auto records = collection_->retrieve(request).value();
    if (records.empty() || records[0].vectors->empty()) return std::nullopt;
    return std::get<MultiVector>(records[0].vectors->front().value);
  }
  /// Of a search.
  [[nodiscard]] float score(const MultiVector& query, const PointId& id) const {
    Query search;
    search.kind = Nearest{VectorValue(query)};
    search.using_field = kTokenField;
    search.limit = kDocuments;
    const Cancel cancel;
    const auto records = collection_->query(search, cancel).value();
    for (const auto& record : records) {
      if (record.id == id) return record.score;
    }
    return NAN;
  }

  void expect_explained(const MultiVector& query, const Explanation& explanation) const {
    const auto document = stored(explanation.id.low()).value();
    ASSERT_EQ(explanation.tokens.size(), query.n_tokens);
    EXPECT_EQ(explanation.score, score(query, explanation.id));
    double sum = 0;
    for (std::uint32_t t = 0; t < query.n_tokens; ++t) {
      const auto& match = explanation.tokens[t];
      ASSERT_LT(match.document, document.n_tokens);
      expect_greatest(&query.values[t * kTokenDim], document, match);
      const double shown = match.score;
      sum += field().metric == Metric::kEuclid ? shown * shown : shown;
    }
    if (field().metric == Metric::kEuclid) sum = std::sqrt(sum);
    EXPECT_NEAR(sum, explanation.score, 1e-4 * (1 + std::abs(sum)));
  }
  static void expect_greatest(const float* token, const MultiVector& document,
                              const TokenMatch& match) {
    const Metric metric = field().metric;
    const double sign = is_distance(metric) ? -1 : 1;
    const auto of = [&](std::uint32_t i) {
      return sign * similarity(metric, token, &document.values[i * kTokenDim]);
    };
    const double best = of(match.document);
    const double band = 1e-4 * (1 + std::abs(best));
    EXPECT_NEAR(sign * match.score, best, band);
    for (std::uint32_t i = 0; i < document.n_tokens; ++i) {
      EXPECT_LE(of(i), best + band);
      const bool is_copy =
          i < match.document &&
          std::equal(&document.values[i * kTokenDim], &document.values[i * kTokenDim] + kTokenDim,
                     &document.values[match.document * kTokenDim]);
      EXPECT_FALSE(is_copy) << "the first of equal tokens is named";
    }
  }

  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
  Random random_{kExplainSeed};
};

TEST_P(Explain, NamesTheBestTokens) {
  for (const std::uint32_t n : {1U, 7U, 19U}) {
    const auto query = tokens(n);
    const auto explanations = explain(query, {3, 1, 2, 30}).value();
    ASSERT_EQ(explanations.size(), 4U);
    for (const auto& explanation : explanations) expect_explained(query, explanation);
  }
}

TEST_P(Explain, KeepsTheOrderAndLeavesOutWhatIsNotThere) {
  const auto found = explain(tokens(2), {9, 500, 0, 4, 9}).value();
  std::vector<PointId> ids;
  for (const auto& explanation : found) ids.push_back(explanation.id);
  EXPECT_EQ(ids, (std::vector{PointId::number(9), PointId::number(4), PointId::number(9)}));
}

TEST_P(Explain, TakesTheVectorOfAPointAndSingleTokens) {
  const auto of_point = explain(PointId::number(3), {3, 7}).value();
  const auto by_value = explain(*stored(3), {3, 7}).value();
  ASSERT_EQ(of_point.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(of_point[i].score, by_value[i].score);
  for (std::size_t t = 0; t < of_point[0].tokens.size(); ++t) {
    if (field().metric == Metric::kDot) break;  // a longer one may be more similar
    EXPECT_EQ(of_point[0].tokens[t].document, t) << "each token of a point meets itself";
  }
  const auto one = tokens(1);
  const auto explanation = explain(VectorValue(DenseVector(one.values)), {7}).value();
  ASSERT_EQ(explanation.size(), 1U);
  expect_explained(one, explanation[0]);
}

TEST_P(Explain, RefusesWhatDoesNotFit) {
  const auto refused = [](const auto& result, Code code, const std::string& text) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), code);
    EXPECT_EQ(result.error().message(), text);
  };
  refused(explain(tokens(2), {1}, ""), Code::kInvalidArgument,
          "the default vector is a dense vector, but only a multi-vector can be explained token by "
          "token");
  refused(explain(tokens(2), {1}, "no"), Code::kInvalidArgument,
          "vector field `no` does not exist");
  refused(explain(MultiVector{1, 2, {1, 2}}, {1}), Code::kInvalidArgument,
          "Vector dimension error: expected dim: 9, got 2");
  refused(explain(PointId::number(500), {1}), Code::kNotFound, "No point with id 500 found");
  refused(explain(PointId::number(0), {1}), Code::kNotFound,
          "Point with id 0 has no vector `tokens`");
  refused(explain(tokens(2000), std::vector<std::uint64_t>(1000, 1)), Code::kInvalidArgument,
          "2000 query tokens for each of 1000 ids, their product must be at most 1048576");
}

TEST_P(Explain, StopsWhenCancelled) {
  ExplainRequest request{tokens(64), kTokenField, {PointId::number(1)}};
  const Cancel cancel;
  cancel.cancel();
  EXPECT_EQ(collection_->explain(request, cancel).error().code(), Code::kCancelled);
}

TEST_P(Explain, IsTheSameOnManyThreads) {
  const auto query = tokens(400);
  const auto alone = explain(query, {1}).value();
  const auto many = explain(query, std::vector<std::uint64_t>(50, 1)).value();  // 100 M products
  ASSERT_EQ(many.size(), 50U);
  for (const auto& explanation : many) {
    EXPECT_EQ(explanation.score, alone[0].score);
    for (std::size_t t = 0; t < 400; ++t) {
      ASSERT_EQ(explanation.tokens[t].document, alone[0].tokens[t].document);
      ASSERT_EQ(explanation.tokens[t].score, alone[0].tokens[t].score);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fields, Explain,
                         ::testing::Combine(::testing::Values(Metric::kDot, Metric::kCosine,
                                                              Metric::kEuclid, Metric::kManhattan),
                                            ::testing::Values(DType::kF32, DType::kF16,
                                                              DType::kU8)));

}  // namespace
}  // namespace quiver::engine::testing

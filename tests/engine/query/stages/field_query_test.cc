#include "engine/query/stages/field_query.h"

#include <cmath>

#include "base/io/file.h"
#include "index/exact/searcher.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

std::string query_error(const NumbersWorld& world, const std::string& field, const Nearest& nearest,
                        const std::vector<float>& token_weights = {}) {
  SearchParams params;
  params.token_weights = token_weights;
  const auto query = field_query(world.environment(), field, nearest, params);
  return query ? "none" : query.error().message();
}

std::vector<float> values_of(const FieldQuery& query) {
  const auto values = query.prepared.values();
  return {values.begin(), values.end()};
}

TEST(FieldNumber, IsThatOfTheName) {
  const NumbersWorld world;
  EXPECT_EQ(world.config.field("dot").value(), 0U);
  EXPECT_EQ(world.config.field("tokens").value(), 3U);
  const auto failed = world.config.field("nosuch");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(failed.error().subject(), Subject::kVectorField);
}

TEST(FieldQueryOf, TakesAVectorOrThatOfAPoint) {
  const NumbersWorld world;
  const auto environment = world.environment();
  const auto given = field_query(environment, "dot", Nearest{DenseVector{2.5F}}, {}).value();
  EXPECT_EQ(given.field, 0U);
  EXPECT_EQ(values_of(given), std::vector<float>{2.5F});
  const auto stored = field_query(environment, "far", Nearest{PointId::number(6)}, {}).value();
  EXPECT_EQ(stored.field, 1U);
  EXPECT_EQ(values_of(stored), std::vector<float>{6});
  EXPECT_EQ(query_error(world, "dot", Nearest{PointId::number(99)}), "No point with id 99 found");
  EXPECT_EQ(query_error(world, "dot", Nearest{PointId::number(9)}),
            "Point with id 9 has no vector `dot`");
  EXPECT_NE(query_error(world, "dot", Nearest{DenseVector{1, 2}}), "none") << "the dimension is 1";
}

TEST(FieldQueryOf, ADenseVectorIsOneToken) {
  const NumbersWorld world;
  const auto query =
      field_query(world.environment(), "tokens", Nearest{DenseVector{3, 4}}, {}).value();
  EXPECT_EQ(query.prepared.n_tokens(), 1U);
  EXPECT_EQ(values_of(query), (std::vector<float>{3, 4}));
}

TEST(FieldQueryOf, ChecksTokenWeights) {
  const NumbersWorld world;
  const Nearest two{MultiVector{2, 2, {1, 0, 0, 1}}};
  EXPECT_EQ(query_error(world, "tokens", two, {1, 0}), "none");
  EXPECT_EQ(query_error(world, "tokens", two, {1}),
            "1 token_weights for 2 query tokens, must be one for each");
  EXPECT_EQ(query_error(world, "tokens", two, {1, -1}),
            "a token weight is -1, must be 0 or larger");
  EXPECT_EQ(query_error(world, "tokens", two, {1, NAN}),
            "a token weight is nan, must be 0 or larger");
  EXPECT_EQ(query_error(world, "dot", Nearest{DenseVector{1}}, {1, 2, 3}), "none")
      << "other fields ignore them";
}

TEST(FieldQueryOf, WeighsSparseValuesByIdf) {
  const NumbersWorld world;
  const SparseVector words{{104, 1, 777}, {2, 3, 5}};
  const auto query = field_query(world.environment(), "words", Nearest{words}, {}).value();
  // Of 8 points with the vector, 8 hold index 1, one 104, none 777.
  const auto idf = [](double n) { return std::log((8 - n + 0.5) / (n + 0.5) + 1); };
  const auto score = [&](std::uint64_t number) {
    const auto place = world.snapshot.find(PointId::number(number)).value();
    const auto& column = place.segment->data->fields[query.field];
    return index::score_row(query.prepared, column, place.row).value();
  };
  EXPECT_FLOAT_EQ(score(5), static_cast<float>(3 * idf(8)));
  EXPECT_FLOAT_EQ(score(4), static_cast<float>(3 * idf(8) + 2 * idf(1)));
}

TEST(FieldQueryOf, RecordsQueriesGivenByValue) {
  const NumbersWorld world;
  QuerySamples samples(make_memory_directory(), world.config.fields);
  auto environment = world.environment();
  environment.queries = &samples;
  Nearest nearest{MultiVector{1, 2, {1, 2}}};
  ASSERT_TRUE(field_query(environment, "tokens", nearest, {}));
  EXPECT_EQ(samples.n_seen(), 1U);
  ASSERT_TRUE(field_query(environment, "tokens", Nearest{PointId::number(1)}, {}));
  nearest.own = PointId::number(1);  // looked up from a point
  ASSERT_TRUE(field_query(environment, "tokens", nearest, {}));
  EXPECT_EQ(samples.n_seen(), 1U);
}

}  // namespace
}  // namespace quiver::engine::testing

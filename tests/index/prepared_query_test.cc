#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "index/prepared_query.h"
#include "kernels/kernels.h"

namespace quiver::index {
namespace {

FieldSchema schema_of(FieldKind kind, std::uint32_t dim, Metric metric) {
  return {"", kind, dim, DType::kF32, metric, SparseModifier::kNone};
}

TEST(PreparedQuery, DenseIsKeptAsGiven) {
  for (const auto metric : {Metric::kDot, Metric::kEuclid, Metric::kManhattan}) {
    const std::vector<float> vector = {3, -4, 0.5F};
    const PreparedQuery query =
        PreparedQuery::dense(schema_of(FieldKind::kDense, 3, metric), vector);
    EXPECT_TRUE(std::equal(vector.begin(), vector.end(), query.values().begin()));
    EXPECT_EQ(query.schema().metric, metric);
  }
}

TEST(PreparedQuery, CosineIsScaledToUnitLength) {
  const std::vector<float> vector = {3, -4, 0};
  const PreparedQuery query =
      PreparedQuery::dense(schema_of(FieldKind::kDense, 3, Metric::kCosine), vector);
  EXPECT_FLOAT_EQ(query.values()[0], 0.6F);
  EXPECT_FLOAT_EQ(query.values()[1], -0.8F);
  EXPECT_EQ(query.values()[2], 0.0F);
}

TEST(PreparedQuery, HugeAndTinyVectorsAreScaledToo) {
  for (const float size : {1e30F, 1e-30F}) {
    const std::vector<float> vector = {3 * size, 4 * size};
    const PreparedQuery query =
        PreparedQuery::dense(schema_of(FieldKind::kDense, 2, Metric::kCosine), vector);
    EXPECT_FLOAT_EQ(query.values()[0], 0.6F) << size;
    EXPECT_FLOAT_EQ(query.values()[1], 0.8F) << size;
  }
}

TEST(PreparedQuery, ZeroVectorStaysZero) {
  const std::vector<float> vector(4, 0.0F);
  const PreparedQuery query =
      PreparedQuery::dense(schema_of(FieldKind::kDense, 4, Metric::kCosine), vector);
  for (const float value : query.values()) EXPECT_EQ(value, 0.0F);
}

TEST(PreparedQuery, SparseIsScattered) {
  const std::vector<std::uint32_t> indices = {1, 4};
  const std::vector<float> values = {2, -3};
  const PreparedQuery query =
      PreparedQuery::sparse(schema_of(FieldKind::kSparse, 0, Metric::kDot), {indices, values});
  const std::vector<float> wanted = {0, 2, 0, 0, -3, 0};
  ASSERT_EQ(query.sparse().dim + 1, wanted.size());
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), query.sparse().scattered));
  EXPECT_EQ(query.sparse().n, 2U);
  EXPECT_EQ(query.sparse().indices[1], 4U);
  EXPECT_EQ(query.sparse().values[1], -3.0F);
}

TEST(PreparedQuery, SparseWithHugeIndicesIsNotScattered) {
  const std::vector<std::uint32_t> indices = {1, 4000000000U};
  const std::vector<float> values = {2, -3};
  const PreparedQuery query =
      PreparedQuery::sparse(schema_of(FieldKind::kSparse, 0, Metric::kDot), {indices, values});
  EXPECT_EQ(query.sparse().scattered, nullptr);
  EXPECT_EQ(query.sparse().n, 2U);
}

TEST(PreparedQuery, SparseZeroIsToldFromAbsence) {
  const std::vector<std::uint32_t> indices = {0, 2};
  const std::vector<float> values = {0, 1};
  const PreparedQuery query =
      PreparedQuery::sparse(schema_of(FieldKind::kSparse, 0, Metric::kDot), {indices, values});
  EXPECT_TRUE(std::signbit(query.sparse().scattered[0]));
  EXPECT_FALSE(std::signbit(query.sparse().scattered[1]));
}

TEST(PreparedQuery, EmptySparse) {
  const PreparedQuery query =
      PreparedQuery::sparse(schema_of(FieldKind::kSparse, 0, Metric::kDot), {});
  EXPECT_EQ(query.sparse().scattered, nullptr);
  EXPECT_EQ(query.sparse().n, 0U);
}

TEST(PreparedQuery, EveryTokenOfAMultiVectorIsScaledAlone) {
  const std::vector<float> tokens = {3, 4, 0, 0, 0, 10};
  const PreparedQuery query =
      PreparedQuery::multi(schema_of(FieldKind::kMulti, 2, Metric::kCosine), tokens);
  EXPECT_EQ(query.n_tokens(), 3U);
  const std::vector<float> wanted = {0.6F, 0.8F, 0, 0, 0, 1};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_FLOAT_EQ(query.values()[i], wanted[i]);
  EXPECT_EQ(query.blocked().size(), MaxSimKernels::prepared_floats(3, 2));
}

TEST(PreparedQuery, TokensHaveTheLengthOfTheirWeights) {
  const std::vector<float> tokens = {3, 4, 0, 5, 1, 0};
  const std::vector<float> weights = {0.5F, 0, 2};
  const PreparedQuery query =
      PreparedQuery::multi(schema_of(FieldKind::kMulti, 2, Metric::kCosine), tokens, weights);
  EXPECT_THAT(query.values(), ::testing::Pointwise(::testing::FloatEq(),
                                                   std::vector<float>{0.3F, 0.4F, 0, 0, 2, 0}));
}

}  // namespace
}  // namespace quiver::index

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "index/exact/searcher.h"
#include "tests/index/exact/exact_support.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

/// Whole numbers in [0, 255] are scored in integers: the only rounding is the last.
TEST(FlatBytes, IntegerScoresAreRoundedOnce) {
  Random random(44);
  for (const auto metric : {Metric::kDot, Metric::kCosine, Metric::kEuclid, Metric::kManhattan}) {
    for (const std::uint32_t dim : {1, 63, 64, 65, 384, 1000}) {
      const FieldSchema field{"", FieldKind::kDense, dim, DType::kU8, metric, {}};
      const auto column = random_column(field, {.n_rows = 40}, random);
      const auto vector = random_vector(field, {}, random);
      const PreparedQuery query = make_query(field, vector);
      ASSERT_EQ(query.bytes().size(), dim);
      for (std::uint32_t row = 0; row < column.n_rows; ++row) {
        EXPECT_EQ(*score_row(query, column, row),
                  static_cast<float>(exact_score(vector, column, row)->score))
            << describe(field) << " dim " << dim << " row " << row;
      }
    }
  }
}

/// Integers or not is a property of the query, and both ways agree within the bound.
TEST(FlatBytes, OnlyWholeNumbersThatFitAreBytes) {
  const FieldSchema field{"", FieldKind::kDense, 3, DType::kU8, Metric::kDot, {}};
  const auto has_bytes = [](const FieldSchema& schema, std::vector<float> values) {
    return !PreparedQuery::dense(schema, values).bytes().empty();
  };
  EXPECT_TRUE(has_bytes(field, {0, 1, 255}));
  EXPECT_TRUE(has_bytes(field, {-0.0F, 1, 2}));
  EXPECT_FALSE(has_bytes(field, {0, 1, 256}));
  EXPECT_FALSE(has_bytes(field, {0, 1, -1}));
  EXPECT_FALSE(has_bytes(field, {0, 1, 0.5F}));
  EXPECT_FALSE(has_bytes(field, {0, 1, std::numeric_limits<float>::quiet_NaN()}));
  FieldSchema floats = field;
  floats.dtype = DType::kF32;
  EXPECT_FALSE(has_bytes(floats, {0, 1, 255}));
}

/// Overflow to infinity ranks first or last; infinity minus infinity is no score.
TEST(FlatDense, OverflowIsNeverANanHit) {
  const FieldSchema field{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, {}};
  const auto column = make_column(
      field,
      {PlainVector{{3e38F, 3e38F}, {}}, PlainVector{{3e38F, -3e38F}, {}}, PlainVector{{1, 1}, {}}});
  const auto hits =
      search(column, make_query(field, {{3e38F, 3e38F}, {}}), RowFilter::all(3), TopK(3));
  for (const Hit& hit : hits) EXPECT_FALSE(std::isnan(hit.score));
  ASSERT_FALSE(hits.empty());
  EXPECT_EQ(hits[0].row, 0U);
}

}  // namespace
}  // namespace quiver::index::testing

#include <gtest/gtest.h>

#include <vector>

#include "index/dense/lists/row_source.h"
#include "tests/index/dense/dense_support.h"

namespace quiver::index::testing {
namespace {

TEST(RowSource, NumbersPresentRowsAndRotatesThem) {
  const FieldSchema schema = dense_schema(40, Metric::kCosine);
  Random random(5);
  const auto column = random_column(schema, {.n_rows = 50, .present_share = 0.6}, random);
  const encoders::Rotation rotation(40, 9);
  const dense::RowSource source(column, rotation);
  ASSERT_EQ(source.n(), column.n_present);
  const auto numbers = source.numbers();
  std::vector<float> row(source.dim());
  std::vector<float> stored(40);
  for (std::uint32_t i = 0; i < source.n(); ++i) {
    EXPECT_NE(column.present[source.row(i)], 0);
    EXPECT_EQ(numbers[source.row(i)], i);
    source.read(i, row.data());
    EXPECT_NEAR(kernels().convert.norm(row.data(), row.size()), 1, 1e-4);
    source.read_stored(i, stored.data());
    EXPECT_EQ(stored[3], static_cast<float>(stored_value(column.dense().rows(), source.row(i), 3)));
  }
}

}  // namespace
}  // namespace quiver::index::testing

#include "index/dense/lists/row_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/index/support.h"

namespace quiver::index::dense {
namespace {

using namespace quiver::index::testing;

constexpr std::uint64_t kRowSourceSeed = 95;

/// A stored row in double precision, of unit length under Cosine.
std::vector<double> row_by_definition(const FieldColumn& column, std::uint32_t row) {
  std::vector<double> values;
  double squares = 0;
  for (std::uint32_t d = 0; d < column.schema.dim; ++d) {
    values.push_back(stored_value(column.dense().rows(), row, d));
    squares += values.back() * values.back();
  }
  if (column.schema.metric == Metric::kCosine && squares > 0) {
    for (double& value : values) value /= std::sqrt(squares);
  }
  return values;
}

template <class A, class B>
double product_of(const A& a, const B& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += double{a[d]} * double{b[d]};
  return sum;
}

TEST(RowSource, NumbersTheRowsThatHaveAVector) {
  SCOPED_TRACE("seed " + std::to_string(kRowSourceSeed));
  Random random(kRowSourceSeed);
  const FieldSchema field{"", FieldKind::kDense, 3, DType::kF32, Metric::kDot, {}};
  const RowTransform rotation(3, 1);
  for (const double share : {0.0, 0.5, 1.0}) {
    const auto column = random_column(field, {.n_rows = 100, .present_share = share}, random);
    const RowSource source(column, rotation);
    ASSERT_EQ(source.n(), column.n_present);
    ASSERT_EQ(source.rows().size(), source.n());
    const auto numbers = source.numbers();
    ASSERT_EQ(numbers.size(), 100U);
    std::uint32_t i = 0;
    for (std::uint32_t row = 0; row < 100; ++row) {
      if (column.present[row] == 0) continue;
      EXPECT_EQ(source.row(i), row);
      EXPECT_EQ(numbers[row], i++);
    }
  }
}

TEST(RowSource, RotationKeepsProductsOfRows) {
  Random random(kRowSourceSeed);
  for (const Metric metric : {Metric::kDot, Metric::kCosine, Metric::kEuclid}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kU8}) {
      for (const std::uint32_t dim : {1U, 31U, 64U, 100U}) {
        const FieldSchema field{"", FieldKind::kDense, dim, dtype, metric, {}};
        SCOPED_TRACE(describe(field) + ", dim " + std::to_string(dim));
        const auto column = random_column(field, {.n_rows = 12, .present_share = 0.8}, random);
        const RowTransform rotation(dim, 5);
        const RowSource source(column, rotation);
        EXPECT_EQ(source.dim(), rotation.padded_dim());
        std::vector<std::vector<float>> rotated;
        for (std::uint32_t i = 0; i < source.n(); ++i) {
          std::vector<float> stored(dim);
          source.read_stored(i, stored.data());
          for (std::uint32_t d = 0; d < dim; ++d) {
            EXPECT_EQ(stored[d], stored_value(column.dense().rows(), source.row(i), d));
          }
          rotated.emplace_back(source.dim());
          source.read(i, rotated.back().data());
        }
        for (std::uint32_t i = 0; i < source.n(); ++i) {
          const auto a = row_by_definition(column, source.row(i));
          for (std::uint32_t j = 0; j <= i; ++j) {
            const auto b = row_by_definition(column, source.row(j));
            const double bound = 1e-5 * std::sqrt(product_of(a, a) * product_of(b, b)) + 1e-9;
            EXPECT_NEAR(product_of(rotated[i], rotated[j]), product_of(a, b), bound);
          }
        }
      }
    }
  }
}

TEST(RowSource, ZeroRowsStayZero) {
  const FieldSchema field{"", FieldKind::kDense, 5, DType::kF32, Metric::kCosine, {}};
  const auto column = make_column(field, {PlainVector{std::vector<float>(5, 0.0F), {}}});
  const RowTransform rotation(5, 1);
  std::vector<float> row(rotation.padded_dim(), 1.0F);
  RowSource(column, rotation).read(0, row.data());
  EXPECT_EQ(row, std::vector<float>(rotation.padded_dim(), 0.0F));
}

}  // namespace
}  // namespace quiver::index::dense

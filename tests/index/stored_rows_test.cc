#include "index/stored_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/index/support.h"

namespace quiver::index {
namespace {

constexpr std::uint64_t kStoredRowsSeed = 92;

TEST(StoredRows, AreReadAsFloatsOfTheSameValue) {
  testing::Random random(kStoredRowsSeed);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kU8, DType::kTurbo4, DType::kTurbo8,
                            DType::kTurbo16, DType::kBf16}) {
    for (const std::uint32_t dim : {1U, 7U, 16U, 33U, 100U}) {
      const FieldSchema field{"", FieldKind::kDense, dim, dtype, Metric::kDot, {}};
      SCOPED_TRACE(testing::describe(field) + ", dim " + std::to_string(dim) + ", seed " +
                   std::to_string(kStoredRowsSeed));
      const FieldColumn column = testing::random_column(field, {.n_rows = 3}, random);
      for (std::size_t row = 0; row < 3; ++row) {
        std::vector<float> values(dim + 1, -7.0F);
        to_floats(column.dense().rows().row(row), dtype, dim, values.data());
        for (std::uint32_t d = 0; d < dim; ++d) {
          EXPECT_EQ(values[d], testing::stored_value(column.dense().rows(), row, d));
        }
        EXPECT_EQ(values[dim], -7.0F) << "written beyond the end";
      }
    }
  }
}

/// Scores of all forms of the scorer are those of decoded vectors.
TEST(StoredRows, CodesScoreAsTheirDecodedVectors) {
  testing::Random random(kStoredRowsSeed);
  std::normal_distribution<float> normal;
  for (const DType dtype : {DType::kTurbo4, DType::kTurbo8, DType::kTurbo16, DType::kI8,
                            DType::kE4m3, DType::kE5m2, DType::kBinary}) {
    for (const Metric metric :
         {Metric::kDot, Metric::kCosine, Metric::kEuclid, Metric::kManhattan}) {
      for (const std::uint32_t dim : {1U, 31U, 100U, 900U}) {
        const FieldSchema field{"", FieldKind::kDense, dim, dtype, metric, {}};
        SCOPED_TRACE(testing::describe(field) + ", dim " + std::to_string(dim));
        const std::uint32_t n_rows = dim < 500 ? 300 : 70;  // the reference takes rows * dim^2
        const FieldColumn column = testing::random_column(field, {.n_rows = n_rows}, random);
        std::vector<float> query(dim);
        for (float& value : query) value = normal(random);
        const auto prepared = PreparedQuery::dense(field, query);
        TopK all(n_rows);
        WorkCounters work;
        const Cancel cancel;
        ASSERT_TRUE(
            FlatSearcher(column).search(prepared, {}, RowFilter::all(n_rows), {cancel}, all, work));
        ASSERT_EQ(all.size(), n_rows);
        for (const Hit& hit : all.take_sorted()) {
          const auto wanted =
              testing::exact_token(field, query.data(), column.dense().rows(), hit.row);
          EXPECT_NEAR(hit.score, wanted.score, wanted.tolerance) << "row " << hit.row;
          EXPECT_EQ(score_row(prepared, column, hit.row), hit.score) << "one row, the same bits";
        }
      }
    }
  }
}

TEST(StoredRows, VectorsThatAreTooLong) {
  const FieldSchema field{"", FieldKind::kDense, 3, DType::kTurbo4, Metric::kDot, {}};
  std::vector<std::byte> row(vector_bytes(3, DType::kTurbo4));
  EXPECT_TRUE(store_code(field, std::vector<float>{0, 2.9e38F, 0}, row.data()));
  EXPECT_FALSE(store_code(field, std::vector<float>{0, 3.1e38F, 0}, row.data()));
  EXPECT_FALSE(store_code(field, std::vector<float>{2.9e38F, 2.9e38F, 0}, row.data()));
}

TEST(StoredRows, UnitLengthForAnyLengthButZero) {
  testing::Random random(kStoredRowsSeed);
  SCOPED_TRACE("seed " + std::to_string(kStoredRowsSeed));
  std::normal_distribution<float> normal;
  for (const std::uint32_t dim : {1U, 2U, 17U, 128U}) {
    for (const float length : {1e-30F, 1.0F, 1e30F}) {
      std::vector<float> vector(dim);
      for (float& value : vector) value = length * normal(random);
      const auto given = vector;
      to_unit_length(vector.data(), dim);
      double squares = 0;
      double product = 0;
      double given_squares = 0;
      for (std::uint32_t d = 0; d < dim; ++d) {
        squares += double{vector[d]} * vector[d];
        product += double{vector[d]} * given[d];
        given_squares += double{given[d]} * given[d];
      }
      EXPECT_NEAR(squares, 1, 1e-5);
      EXPECT_NEAR(product / std::sqrt(given_squares), 1, 1e-5) << "the direction is kept";
    }
  }
  std::vector<float> zero(5, 0.0F);
  to_unit_length(zero.data(), 5);
  EXPECT_EQ(zero, std::vector<float>(5, 0.0F));
}

TEST(StoredRows, PresentRowsAscend) {
  const FieldSchema field{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, {}};
  const testing::PlainVector one{{1, 2}, {}};
  EXPECT_TRUE(list_present_rows(testing::make_column(field, {})).empty());
  EXPECT_TRUE(list_present_rows(testing::make_column(field, {std::nullopt})).empty());
  EXPECT_EQ(list_present_rows(testing::make_column(field, {one, std::nullopt, one, one})),
            (std::vector<std::uint32_t>{0, 2, 3}));
}

}  // namespace
}  // namespace quiver::index

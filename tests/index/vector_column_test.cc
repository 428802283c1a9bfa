#include "index/vector_column.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/index/support.h"

namespace quiver::index {
namespace {

using testing::PlainVector;

TEST(VectorColumn, DenseRowsStartOnLines) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kU8}) {
    for (const std::uint32_t dim : {1U, 16U, 17U, 100U}) {
      const FieldSchema field{"", FieldKind::kDense, dim, dtype, Metric::kDot, {}};
      SCOPED_TRACE(testing::describe(field) + ", dim " + std::to_string(dim));
      const PlainVector row{std::vector<float>(dim, 3.0F), {}};
      const auto column = testing::make_column(field, {row, std::nullopt, row});
      const MatrixView rows = column.dense().rows();
      EXPECT_EQ(rows.n_rows, 3U);
      EXPECT_EQ(rows.dim, dim);
      EXPECT_EQ(column.dense().stride() % 64, 0U);
      EXPECT_GE(column.dense().stride(), dim * bytes_per_value(dtype));
      EXPECT_LT(column.dense().stride(), dim * bytes_per_value(dtype) + 64);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(rows.row(i), column.dense().bytes.data() + i * column.dense().stride());
        EXPECT_EQ(testing::stored_value(rows, i, dim - 1), i == 1 ? 0 : 3) << "row " << i;
      }
      EXPECT_FALSE(column.all_present());
    }
  }
}

TEST(VectorColumn, SparseRowsAreTheirEntries) {
  const FieldSchema field{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};
  const auto column = testing::make_column(
      field, {PlainVector{{0.5F, 2}, {3, 9}}, PlainVector{}, PlainVector{{-1}, {7}}});
  EXPECT_TRUE(column.all_present());
  const SparseView first = column.sparse().row(0);
  EXPECT_EQ(std::vector(first.indices.begin(), first.indices.end()),
            (std::vector<std::uint32_t>{3, 9}));
  EXPECT_EQ(std::vector(first.values.begin(), first.values.end()), (std::vector<float>{0.5F, 2}));
  EXPECT_TRUE(column.sparse().row(1).indices.empty());
  EXPECT_EQ(column.sparse().row(2).values[0], -1);
}

/// As bits of a running server's files may change.
TEST(VectorColumn, DamagedOffsetsLeadNowhereElse) {
  const std::uint64_t wrong[] = {1, 2, 3, 4, 1000, std::uint64_t{1} << 58, ~std::uint64_t{0}};
  const FieldSchema sparse{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};
  auto entries = testing::make_column(sparse, {PlainVector{{0.5F, 2}, {3, 9}}}).sparse();
  const FieldSchema multi{"", FieldKind::kMulti, 2, DType::kF32, Metric::kDot, {}};
  auto tokens = testing::make_column(multi, {PlainVector{{1, 2, 3, 4}, {}}}).multi();
  for (const std::uint64_t begin : wrong) {
    for (const std::uint64_t end : wrong) {
      entries.offsets = SharedSpan<std::uint64_t>::of({begin, end});
      const SparseView row = entries.row(0);
      EXPECT_EQ(row.indices.size(), begin == 1 && end > 1 ? 1U : 0U);
      EXPECT_EQ(row.values.size(), row.indices.size());
      tokens.offsets = SharedSpan<std::uint64_t>::of({begin, end});
      const MatrixView set = tokens.row(0);
      EXPECT_EQ(set.n_rows, begin == 1 && end == 2 ? 1U : 0U);
      EXPECT_GE(set.data, tokens.tokens.bytes.data());
      EXPECT_LE(set.data + set.n_rows * set.stride_bytes,
                tokens.tokens.bytes.data() + tokens.tokens.bytes.size());
    }
  }
}

TEST(VectorColumn, MultiRowsAreTheirTokens) {
  const FieldSchema field{"", FieldKind::kMulti, 2, DType::kF32, Metric::kDot, {}};
  const auto column = testing::make_column(
      field, {PlainVector{{1, 2, 3, 4}, {}}, std::nullopt, PlainVector{{5, 6}, {}}});
  EXPECT_EQ(column.multi().row(0).n_rows, 2U);
  EXPECT_EQ(column.multi().row(1).n_rows, 0U);
  EXPECT_EQ(column.multi().row(2).n_rows, 1U);
  EXPECT_EQ(testing::stored_value(column.multi().row(0), 1, 0), 3);
  EXPECT_EQ(testing::stored_value(column.multi().row(2), 0, 1), 6);
}

/// Of a file that is damaged while it is mapped: no row has a length beyond the column.
TEST(VectorColumn, OffsetsThatDescendMakeEmptyRows) {
  const SparseColumn sparse{SharedSpan<std::uint64_t>::of({0, 2, 1}),
                            SharedSpan<std::uint32_t>::of({1, 2}), SharedSpan<float>::of({1, 2})};
  EXPECT_EQ(sparse.row(0).indices.size(), 2U);
  EXPECT_TRUE(sparse.row(1).indices.empty());
}

}  // namespace
}  // namespace quiver::index

#include <gtest/gtest.h>

#include "index/vector_column.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

TEST(VectorColumn, RowsOfEachKind) {
  const FieldSchema dense{"", FieldKind::kDense, 3, DType::kF32, Metric::kDot, {}};
  const auto rows = make_column(dense, {PlainVector{{1, 2, 3}, {}}, std::nullopt});
  EXPECT_EQ(rows.dense().stride(), 64U);
  EXPECT_EQ(rows.dense().rows().n_rows, 2U);
  EXPECT_FALSE(rows.all_present());

  const FieldSchema sparse{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};
  const auto terms = make_column(sparse, {std::nullopt, PlainVector{{5, 6}, {1, 9}}});
  EXPECT_TRUE(terms.sparse().row(0).indices.empty());
  EXPECT_EQ(terms.sparse().row(1).indices[1], 9U);
  EXPECT_EQ(terms.sparse().row(1).values[0], 5);

  const FieldSchema multi{"", FieldKind::kMulti, 2, DType::kF16, Metric::kDot, {}};
  const auto tokens = make_column(multi, {PlainVector{{1, 2}, {}}, PlainVector{{1, 2, 3, 4}, {}}});
  EXPECT_EQ(tokens.multi().row(0).n_rows, 1U);
  EXPECT_EQ(tokens.multi().row(1).n_rows, 2U);
  EXPECT_TRUE(tokens.all_present());
}

}  // namespace
}  // namespace quiver::index::testing

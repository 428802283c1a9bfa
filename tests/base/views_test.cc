#include "base/views.h"

#include <gtest/gtest.h>

#include <array>

namespace quiver {
namespace {

TEST(Views, StoredRowsArePaddedTo64Bytes) {
  EXPECT_EQ(padded_row_bytes(1, DType::kU8), 64U);
  EXPECT_EQ(padded_row_bytes(16, DType::kF32), 64U);
  EXPECT_EQ(padded_row_bytes(17, DType::kF32), 128U);
  EXPECT_EQ(padded_row_bytes(33, DType::kF16), 128U);
  EXPECT_EQ(padded_row_bytes(0, DType::kF32), 0U);
}

TEST(Views, LengthIsZeroIfTheEndLiesBeforeTheBeginning) {
  EXPECT_EQ(length_between(3U, 7U), 4U);
  EXPECT_EQ(length_between(7U, 7U), 0U);
  EXPECT_EQ(length_between(7U, 0U), 0U);
}

TEST(Views, PartsStayInside) {
  const std::array<int, 5> values = {1, 2, 3, 4, 5};
  const std::span<const int> all(values);
  EXPECT_EQ(part_of(all, 1, 3).size(), 2U);
  EXPECT_EQ(part_of(all, 1, 3).front(), 2);
  EXPECT_EQ(part_of(all, 3, 99).size(), 2U);
  EXPECT_EQ(part_of(all, 0, ~std::uint64_t{0}).size(), 5U);
  EXPECT_TRUE(part_of(all, 3, 1).empty());
  EXPECT_TRUE(part_of(all, 5, 6).empty());
  EXPECT_TRUE(part_of(all, ~std::uint64_t{0}, 2).empty());
}

TEST(Views, MatrixRowsAreAStrideApart) {
  alignas(64) std::array<float, 32> values{};
  values[16] = 2;
  const MatrixView matrix{reinterpret_cast<const std::byte*>(values.data()), 2, 3, DType::kF32, 64};
  EXPECT_EQ(matrix.row_f32(0)[0], 0.0F);
  EXPECT_EQ(matrix.row_f32(1)[0], 2.0F);
}

}  // namespace
}  // namespace quiver

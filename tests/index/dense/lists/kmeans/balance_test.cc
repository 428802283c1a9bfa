#include <gtest/gtest.h>

#include <vector>

#include "index/dense/lists/kmeans/balance.h"

namespace quiver::index::dense::testing {
namespace {

TEST(KmeansBalance, SmallListsGoAndLargeOnesAreSplit) {
  constexpr std::uint32_t kRows = 400;
  const RowReader reader = [](std::uint32_t row, float* out) {
    out[0] = row < 3 ? 1000.0F : static_cast<float>(row);
    out[1] = 0;
  };
  Clusters clusters{.dim = 2, .centroids = {1000, 0, 200, 0}, .list_of = {}};
  for (std::uint32_t row = 0; row < kRows; ++row) clusters.list_of.push_back(row < 3 ? 0 : 1);
  const Cancel cancel;
  const ListBounds bounds{10, 100};
  ASSERT_TRUE(balance(reader, bounds, {nullptr, cancel, 0, nullptr}, clusters));
  std::vector<std::uint32_t> sizes(clusters.n(), 0);
  for (const std::uint32_t list : clusters.list_of) ++sizes[list];
  EXPECT_GE(clusters.n(), 4U);
  for (const std::uint32_t size : sizes) {
    EXPECT_GE(size, bounds.min);
    EXPECT_LE(size, bounds.max);
  }
}

TEST(KmeansBalance, BoundsAreAQuarterAndThreeTimesTheMean) {
  const ListBounds bounds = ListBounds::of(1000, 10);
  EXPECT_EQ(bounds.min, 25U);
  EXPECT_EQ(bounds.max, 300U);
  EXPECT_EQ(ListBounds::of(3, 10).min, 1U);
}

}  // namespace
}  // namespace quiver::index::dense::testing

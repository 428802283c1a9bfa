#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "index/dense/lists/kmeans/rows.h"
#include "tests/index/dense/lists/kmeans/kmeans_support.h"

namespace quiver::index::dense::testing {
namespace {

TEST(KmeansRows, SpreadTakesOneOfEachPart) {
  const auto chosen = spread(10, 1000, 3);
  ASSERT_EQ(chosen.size(), 10U);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(chosen[i] / 100, i);
  EXPECT_EQ(spread(10, 1000, 3), chosen);
  EXPECT_EQ(spread(4, 4, 1), (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(KmeansRows, GridCodesAreWithinHalfAStep) {
  std::mt19937_64 random(4);
  std::normal_distribution<float> normal(5, 2);
  std::vector<float> values(100 * 32);
  for (float& value : values) value = normal(random);
  const RowReader reader = [&](std::uint32_t row, float* out) {
    std::copy_n(values.data() + row * 32, 32, out);
  };
  const ByteGrid grid(reader, spread(100, 100, 0), 32);
  std::vector<float> buffer(32);
  std::vector<std::uint8_t> codes(32);
  std::vector<float> units(32);
  std::vector<float> back(32);
  for (std::uint32_t row = 0; row < 90; ++row) {
    grid.encode(reader, row, buffer.data(), codes.data());
    for (std::size_t d = 0; d < 32; ++d) units[d] = value_of(codes[d]);
    grid.from_codes(units.data(), back.data());
    std::size_t n_far = 0;
    for (std::size_t d = 0; d < 32; ++d) n_far += std::abs(back[d] - values[row * 32 + d]) > 0.04F;
    EXPECT_LE(n_far, 1U) << "clipped values";
    grid.to_codes(back.data(), units.data());
    EXPECT_NEAR(units[0], value_of(codes[0]), 1e-3);
  }
}

TEST(KmeansRows, MembersAndMeans) {
  const std::uint32_t lists[] = {1, 0, 1, 3};
  const Members members(lists, 4);
  EXPECT_EQ(members.n_lists(), 4U);
  EXPECT_EQ(members.of(1)[1], 2U);
  EXPECT_TRUE(members.of(2).empty());
  ByteMatrix codes(600, 32);
  for (std::size_t i = 0; i < 600; ++i) std::fill_n(codes.at(i), 32, i < 300 ? 255 : 0);
  std::vector<std::uint32_t> all(600);
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> mean(32);
  mean_of(codes.view(), all, mean.data());
  EXPECT_EQ(mean[5], 0);
}

}  // namespace
}  // namespace quiver::index::dense::testing

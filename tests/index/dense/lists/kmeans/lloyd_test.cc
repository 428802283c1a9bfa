#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "index/dense/lists/kmeans/lloyd.h"
#include "tests/index/dense/lists/kmeans/kmeans_support.h"

namespace quiver::index::dense::testing {
namespace {

TEST(Lloyd, FindsClumps) {
  const ByteMatrix codes = clumped_codes(800, 64, 8, 9);
  const Cancel cancel;
  std::vector<std::uint32_t> list_of(800);
  std::uint64_t n_rounds = 0;
  const BuildContext context{nullptr, cancel, 0, [&](std::uint64_t n) { n_rounds = n; }};
  const auto means = lloyd(codes.view(), all_of(800), {.n_clusters = 8, .rounds = 10, .seed = 1},
                           context, list_of.data());
  EXPECT_EQ(n_rounds, 10U);
  ASSERT_EQ(means.size(), 8U * 64);
  double sum = 0;
  for (std::size_t i = 0; i < 800; ++i) {
    const auto* row = codes.view().at(i);
    sum += squared_distance(row, &means[std::size_t{nearest_mean(row, means, 64)} * 64], 64);
  }
  EXPECT_LT(sum / 800, 4 * 64 * 8) << "noise of +-4 has a variance of 6.7 in each dimension";
}

TEST(Lloyd, AssignsToTheNearestCentre) {
  const ByteMatrix codes = clumped_codes(300, 32, 20, 10);
  std::vector<float> means(20 * 32);
  for (std::uint32_t c = 0; c < 20; ++c) {
    mean_of(codes.view(), std::span(&c, 1), means.data() + c * 32);
  }
  const Cancel cancel;
  std::vector<std::uint32_t> list_of(300);
  assign_all(codes.view(), all_of(300), Centres(means, 32), {nullptr, cancel, 0, nullptr},
             list_of.data());
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(list_of[i], nearest_mean(codes.view().at(i), means, 32));
  }
}

TEST(Lloyd, ACentreWithoutRowsStaysOrTakesHalfOfTheLargest) {
  const ByteMatrix codes = clumped_codes(100, 32, 1, 11);
  const std::vector<std::uint32_t> list_of(100, 0);
  const Members members(list_of, 2);
  const Cancel cancel;
  for (const auto small : {Mover::Small::kKeep, Mover::Small::kRestart}) {
    std::vector<float> means(2 * 32, 100);
    Mover(codes.view(), 1).move(members, small, {nullptr, cancel, 0, nullptr}, means);
    EXPECT_EQ(means[32] == 100, small == Mover::Small::kKeep);
  }
}

}  // namespace
}  // namespace quiver::index::dense::testing

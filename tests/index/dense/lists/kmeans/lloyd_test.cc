#include "index/dense/lists/kmeans/lloyd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "tests/index/dense/lists/kmeans/kmeans_support.h"

namespace quiver::index::dense {
namespace {

using testing::clumped_codes;
using testing::Random;

constexpr std::uint64_t kLloydSeed = 103;

/// Row i of code 50 or 200, a little apart, in each of four dimensions.
ByteMatrix two_clumps(std::size_t n) {
  ByteMatrix rows(n, 4);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t d = 0; d < 4; ++d) {
      rows.at(i)[d] = static_cast<std::uint8_t>((i % 2 == 0 ? 50 : 200) + i / 2 % 3);
    }
  }
  return rows;
}

TEST(Lloyd, AllOfAndAssignAll) {
  EXPECT_TRUE(all_of(0).empty());
  EXPECT_EQ(all_of(3), (std::vector<std::uint32_t>{0, 1, 2}));
  const ByteMatrix rows = two_clumps(5000);
  const std::vector<float> means = {70, 70, 70, 70, -70, -70, -70, -70};
  const Cancel cancel;
  Executor executor(3, "test");
  for (Executor* helper : {static_cast<Executor*>(nullptr), &executor}) {
    std::vector<std::uint32_t> list_of(5000, 7);
    const std::vector<std::uint32_t> members = spread(4000, 5000, 1);
    assign_all(rows.view(), members, Centres(means, 4), {helper, cancel, 0, nullptr},
               list_of.data());
    for (std::uint32_t row = 0; row < 5000; ++row) {
      const bool is_member = std::binary_search(members.begin(), members.end(), row);
      ASSERT_EQ(list_of[row], is_member ? (row % 2 == 0 ? 1U : 0U) : 7U) << "row " << row;
    }
  }
}

TEST(Mover, PutsCentresOnTheMeansOfTheirRows) {
  SCOPED_TRACE("seed " + std::to_string(kLloydSeed));
  Random random(kLloydSeed);
  const ByteMatrix rows = clumped_codes(90, 6, 5, random);
  std::vector<std::uint32_t> list_of(90);
  for (std::uint32_t row = 0; row < 90; ++row) list_of[row] = row % 3;  // and none in list 3
  const Members members(list_of, 4);
  std::vector<float> means(4 * 6, 11.0F);
  const Cancel cancel;
  Mover(rows.view(), kLloydSeed)
      .move(members, Mover::Small::kKeep, {nullptr, cancel, 0, nullptr}, means);
  for (std::size_t list = 0; list < 3; ++list) {
    std::vector<float> mean(6);
    mean_of(rows.view(), members.of(list), mean.data());
    EXPECT_EQ(std::vector<float>(means.begin() + static_cast<std::ptrdiff_t>(list * 6),
                                 means.begin() + static_cast<std::ptrdiff_t>(list * 6 + 6)),
              mean);
  }
  for (std::size_t d = 0; d < 6; ++d) EXPECT_EQ(means[18 + d], 11.0F) << "an empty list stays";
}

TEST(Mover, GivesSmallListsHalfOfTheLargest) {
  Random random(kLloydSeed);
  const ByteMatrix rows = clumped_codes(100, 6, 5, random);
  std::vector<std::uint32_t> list_of(100, 0);
  for (std::uint32_t row = 70; row < 98; ++row) list_of[row] = 1;
  list_of[98] = list_of[99] = 2;
  const Members members(list_of, 3);
  std::vector<float> means(3 * 6);
  const Cancel cancel;
  Mover(rows.view(), kLloydSeed)
      .move(members, Mover::Small::kRestart, {nullptr, cancel, 0, nullptr}, means);
  std::vector<float> largest(6);
  mean_of(rows.view(), members.of(0), largest.data());
  bool differ = false;
  for (std::size_t d = 0; d < 6; ++d) {
    EXPECT_NEAR((means[d] + means[12 + d]) / 2, largest[d], 1e-3)
        << "on opposite sides of the mean";
    differ = differ || means[d] != means[12 + d];
  }
  EXPECT_TRUE(differ);
}

TEST(Lloyd, FindsTwoClumpsFromAnySeed) {
  const ByteMatrix rows = two_clumps(600);
  const auto members = all_of(600);
  const Cancel cancel;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<std::uint32_t> list_of(600);
    std::vector<std::uint64_t> told;
    const BuildContext context{nullptr, cancel, 0, [&](std::uint64_t n) { told.push_back(n); }};
    const auto means = lloyd(rows.view(), members, {2, 8, seed}, context, list_of.data());
    ASSERT_EQ(means.size(), 8U);
    for (std::uint32_t row = 0; row < 600; ++row) {
      ASSERT_EQ(list_of[row] == list_of[0], row % 2 == 0) << "row " << row;
    }
    EXPECT_NEAR(means[list_of[0] * 4], 51 - 127.5, 0.01);
    EXPECT_NEAR(means[list_of[1] * 4], 201 - 127.5, 0.01);
    EXPECT_EQ(told, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  }
}

TEST(Lloyd, SameForAnyNumberOfThreadsAndEndsWhenCancelled) {
  Random random(kLloydSeed);
  const ByteMatrix rows = clumped_codes(3000, 10, 12, random);
  const auto members = all_of(3000);
  const Cancel cancel;
  std::vector<std::uint32_t> alone(3000);
  std::vector<std::uint32_t> together(3000);
  Executor executor(3, "test");
  EXPECT_EQ(
      lloyd(rows.view(), members, {12, 4, 5}, {nullptr, cancel, 0, nullptr}, alone.data()),
      lloyd(rows.view(), members, {12, 4, 5}, {&executor, cancel, 0, nullptr}, together.data()));
  EXPECT_EQ(alone, together);
  cancel.cancel();
  std::vector<std::uint64_t> told;
  const auto means =
      lloyd(rows.view(), members, {12, 4, 5},
            {nullptr, cancel, 0, [&](std::uint64_t n) { told.push_back(n); }}, alone.data());
  EXPECT_EQ(means.size(), 120U);
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace quiver::index::dense

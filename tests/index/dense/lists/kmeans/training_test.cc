#include "index/dense/lists/kmeans/training.h"

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
using testing::nearest_squared_distance;
using testing::Random;

constexpr std::uint64_t kTrainingSeed = 105;
constexpr std::uint32_t kTrainingDim = 16;

double sum_of_distances(const ByteMatrix& rows, std::span<const float> means) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.n(); ++i) {
    sum += nearest_squared_distance(rows.view().at(i), means, rows.dim());
  }
  return sum;
}

/// `n` rows, evenly from all, as means.
std::vector<float> rows_as_means(const ByteMatrix& rows, std::uint32_t n) {
  std::vector<float> means;
  for (const std::uint32_t row : spread(n, static_cast<std::uint32_t>(rows.n()), kTrainingSeed)) {
    for (std::uint32_t d = 0; d < rows.dim(); ++d) {
      means.push_back(value_of(rows.view().at(row)[d]));
    }
  }
  return means;
}

TEST(Training, MeansAreNearerToTheRowsThanRowsAre) {
  SCOPED_TRACE("seed " + std::to_string(kTrainingSeed));
  Random random(kTrainingSeed);
  const ByteMatrix rows = clumped_codes(2000, kTrainingDim, 40, random);
  const Cancel cancel;
  std::vector<std::uint64_t> told;
  const BuildContext context{nullptr, cancel, 0, [&](std::uint64_t n) { told.push_back(n); }};
  for (const std::uint32_t n : {1U, 7U, 60U}) {
    told.clear();
    const auto means = train(rows, n, 10, kTrainingSeed, context);
    ASSERT_TRUE(means);
    ASSERT_EQ(means->size(), std::size_t{n} * kTrainingDim);
    EXPECT_LT(sum_of_distances(rows, *means), sum_of_distances(rows, rows_as_means(rows, n)));
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.back(), rows.n());
  }
}

/// More clusters than are looked at together: the rows are grouped first.
TEST(Training, ManyClustersAreTrainedInGroups) {
  Random random(kTrainingSeed);
  const ByteMatrix rows = clumped_codes(4000, 6, 200, random);
  const Cancel cancel;
  const auto means = train(rows, 1100, 4, kTrainingSeed, {nullptr, cancel, 0, nullptr});
  ASSERT_TRUE(means);
  const auto n = static_cast<double>(means->size() / 6);
  EXPECT_NEAR(n, 1100, 55);
  EXPECT_LT(sum_of_distances(rows, *means), sum_of_distances(rows, rows_as_means(rows, 1100)));
}

TEST(Training, SameForAnyNumberOfThreads) {
  Random random(kTrainingSeed);
  const ByteMatrix rows = clumped_codes(1500, kTrainingDim, 30, random);
  const Cancel cancel;
  Executor executor(3, "test");
  const auto alone = train(rows, 25, 6, 1, {nullptr, cancel, 0, nullptr});
  const auto together = train(rows, 25, 6, 1, {&executor, cancel, 0, nullptr});
  ASSERT_TRUE(alone && together);
  EXPECT_EQ(*alone, *together);
}

TEST(Training, ResumesWithFewerAsManyOrMoreClusters) {
  SCOPED_TRACE("seed " + std::to_string(kTrainingSeed));
  Random random(kTrainingSeed);
  const ByteMatrix rows = clumped_codes(2000, kTrainingDim, 40, random);
  const Cancel cancel;
  const BuildContext context{nullptr, cancel, 0, nullptr};
  const auto means = train(rows, 40, 10, kTrainingSeed, context);
  ASSERT_TRUE(means);
  for (const std::uint32_t n : {30U, 40U, 50U}) {
    const auto resumed = resume(rows, *means, n, kTrainingSeed, context);
    ASSERT_TRUE(resumed);
    ASSERT_TRUE(*resumed) << n << " clusters";
    ASSERT_EQ((*resumed)->means.size(), std::size_t{n} * kTrainingDim);
    ASSERT_EQ((*resumed)->list_of.size(), rows.n());
    for (const std::uint32_t list : (*resumed)->list_of) ASSERT_LT(list, n);
    const double allowed = n < 40 ? 100 : 1.05;  // clumps must share fewer means
    EXPECT_LE(sum_of_distances(rows, (*resumed)->means), sum_of_distances(rows, *means) * allowed);
  }
}

/// Nearly all rows are nearest to one of eight means: they are of another distribution.
TEST(Training, MeansOfOtherRowsAreNotResumed) {
  Random random(kTrainingSeed);
  const ByteMatrix rows = clumped_codes(500, kTrainingDim, 1, random);
  std::vector<float> means = rows_as_means(rows, 1);
  for (int c = 0; c < 7; ++c) {
    for (std::uint32_t d = 0; d < kTrainingDim; ++d) {
      means.push_back(means[d] > 0 ? -120.0F - static_cast<float>(c) : 120.0F);
    }
  }
  const Cancel cancel;
  const auto resumed = resume(rows, means, 8, 1, {nullptr, cancel, 0, nullptr});
  ASSERT_TRUE(resumed);
  EXPECT_FALSE(resumed->has_value());
}

TEST(Training, CancelledIsAnError) {
  Random random(kTrainingSeed);
  const ByteMatrix rows = clumped_codes(300, kTrainingDim, 3, random);
  const Cancel cancel;
  cancel.cancel();
  const BuildContext context{nullptr, cancel, 0, nullptr};
  const auto means = train(rows, 5, 3, 1, context);
  ASSERT_FALSE(means);
  EXPECT_EQ(means.error().code(), Code::kCancelled);
  const auto resumed = resume(rows, rows_as_means(rows, 5), 5, 1, context);
  ASSERT_FALSE(resumed);
  EXPECT_EQ(resumed.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::dense

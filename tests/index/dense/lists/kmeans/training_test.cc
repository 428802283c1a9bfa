#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "index/dense/lists/kmeans/training.h"
#include "tests/index/dense/lists/kmeans/kmeans_support.h"

namespace quiver::index::dense::testing {
namespace {

double mean_distance(const ByteMatrix& codes, const std::vector<float>& means) {
  double sum = 0;
  for (std::size_t i = 0; i < codes.n(); ++i) {
    const auto* row = codes.view().at(i);
    sum += squared_distance(row, &means[std::size_t{nearest_mean(row, means, 32)} * 32], 32);
  }
  return sum / static_cast<double>(codes.n());
}

TEST(KmeansTraining, EndsNearTheClumps) {
  const ByteMatrix codes = clumped_codes(3000, 32, 30, 13);
  const Cancel cancel;
  const auto means = train(codes, 30, 10, 1, {nullptr, cancel, 0, nullptr});
  ASSERT_TRUE(means);
  EXPECT_EQ(means->size(), 30U * 32);
  EXPECT_LT(mean_distance(codes, *means), 32 * 1000) << "clumps are about 2 * 3800 * 32 apart";
  EXPECT_EQ(*train(codes, 30, 10, 1, {nullptr, cancel, 0, nullptr}), *means);
}

TEST(KmeansTraining, ResumesFromMeansOfTheSameRowsAndRefusesCrowdedOnes) {
  const ByteMatrix codes = clumped_codes(3000, 32, 30, 14);
  const Cancel cancel;
  const auto means = train(codes, 30, 10, 1, {nullptr, cancel, 0, nullptr});
  ASSERT_TRUE(means);
  const auto resumed = resume(codes, *means, 32, 1, {nullptr, cancel, 0, nullptr});
  ASSERT_TRUE(resumed);
  ASSERT_TRUE(*resumed);
  EXPECT_EQ((*resumed)->means.size(), 32U * 32);
  EXPECT_EQ((*resumed)->list_of.size(), 3000U);
  std::vector<float> crowded(30 * 32, 120);
  std::copy_n(means->begin(), 32, crowded.begin());
  const auto refused = resume(codes, crowded, 30, 1, {nullptr, cancel, 0, nullptr});
  ASSERT_TRUE(refused);
  EXPECT_FALSE(*refused) << "nearly all rows are in one list";
}

TEST(KmeansTraining, CancelledIsAnError) {
  Cancel cancel;
  cancel.cancel();
  EXPECT_FALSE(train(clumped_codes(100, 32, 4, 15), 4, 3, 1, {nullptr, cancel, 0, nullptr}));
}

}  // namespace
}  // namespace quiver::index::dense::testing

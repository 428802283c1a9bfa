#include "index/sparse/rows/best_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace quiver::index::sparse {
namespace {

constexpr std::uint64_t kBestRowsSeed = 121;

TEST(BestRows, KeepsTheBestInWhateverOrderTheyAreOffered) {
  SCOPED_TRACE("seed " + std::to_string(kBestRowsSeed));
  std::mt19937_64 random(kBestRowsSeed);
  BestRows best;
  std::vector<ScoredRow> taken;
  for (const std::size_t n : {1U, 5U, 40U, 100U}) {
    std::vector<ScoredRow> offered;
    for (std::uint32_t row = 0; row < 60; ++row) {
      offered.push_back({static_cast<float>(random() % 12), row});  // many ties
    }
    std::shuffle(offered.begin(), offered.end(), random);
    best.start(n);
    for (std::size_t i = 0; i < offered.size(); ++i) {
      EXPECT_EQ(best.full(), i >= n);
      auto before =
          std::vector<ScoredRow>(offered.begin(), offered.begin() + static_cast<std::ptrdiff_t>(i));
      std::sort(before.begin(), before.end());
      const bool enters = i < n || offered[i] < before[n - 1];
      const float bar = i < n ? -std::numeric_limits<float>::infinity() : before[n - 1].score;
      EXPECT_EQ(best.threshold(), bar);
      EXPECT_EQ(best.offer(offered[i]), enters);
    }
    EXPECT_EQ(best.candidates().size(), std::min<std::size_t>(n, 60));
    std::sort(offered.begin(), offered.end());
    best.take(taken);
    ASSERT_EQ(taken.size(), std::min<std::size_t>(n, 60));
    for (std::size_t i = 0; i < taken.size(); ++i) {
      EXPECT_EQ(taken[i].score, offered[i].score);
      EXPECT_EQ(taken[i].row, offered[i].row) << "ties are ordered by row";
    }
    EXPECT_TRUE(best.candidates().empty());
  }
}

TEST(BestRows, NoneWantedTakesNone) {
  BestRows best;
  best.start(0);
  EXPECT_TRUE(best.full());
  EXPECT_FALSE(best.offer({5, 1}));
  EXPECT_EQ(best.threshold(), -std::numeric_limits<float>::infinity());
  std::vector<ScoredRow> taken = {{1, 1}};
  best.take(taken);
  EXPECT_TRUE(taken.empty());
}

TEST(BestRows, StartsAnewWithAnotherNumber) {
  BestRows best;
  best.start(3);
  for (std::uint32_t row = 0; row < 5; ++row) best.offer({1, row});
  best.start(1);
  EXPECT_FALSE(best.full());
  EXPECT_TRUE(best.offer({0, 9}));
  EXPECT_FALSE(best.offer({0, 10})) << "ties go to the lower row";
  EXPECT_TRUE(best.offer({0, 8}));
}

}  // namespace
}  // namespace quiver::index::sparse

#include <gtest/gtest.h>

#include "index/sparse/blocks/best_first.h"
#include "index/sparse/blocks/block_scores.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/visited.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;

TEST(SeismicBlocks, BestFirstIsTheSortedOrder) {
  Random random(kSeed);
  for (const std::size_t n : {0U, 1U, 31U, 32U, 33U, 100U, 1000U}) {
    std::vector<ScoredBlock> blocks;
    for (std::uint32_t b = 0; b < n; ++b) blocks.emplace_back(random() % 50, b);
    auto wanted = blocks;
    std::sort(wanted.begin(), wanted.end(), std::greater<>());
    BestFirst order(blocks);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(order[i].block(), wanted[i].block());
      EXPECT_EQ(order[i].sum(), wanted[i].sum());
    }
  }
}

}  // namespace
}  // namespace quiver::index::sparse

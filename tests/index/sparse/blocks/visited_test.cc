#include <gtest/gtest.h>

#include "index/sparse/blocks/best_first.h"
#include "index/sparse/blocks/block_scores.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/visited.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;

TEST(SeismicBlocks, VisitedRowsAreASet) {
  Random random(kSeed);
  VisitedRows visited;
  for (const std::size_t n : {10U, 700U, 20'000U}) {
    visited.clear();
    std::set<std::uint32_t> wanted;
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = static_cast<std::uint32_t>(random() % (n * 2));
      EXPECT_EQ(visited.insert(row), wanted.insert(row).second);
    }
    EXPECT_EQ(visited.size(), wanted.size());
  }
}

}  // namespace
}  // namespace quiver::index::sparse

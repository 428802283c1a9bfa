#include <gtest/gtest.h>

#include "index/sparse/blocks/best_first.h"
#include "index/sparse/blocks/block_scores.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/visited.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;

TEST(SeismicBlocks, NeighboursImproveResults) {
  Random random(kSeed);
  const Topics topics{.n_rows = 3000};
  BlockParams params;
  params.n_postings = 40;
  params.n_neighbours = 8;
  Built built(column_of(random_rows(topics, random)), params);
  double with = 0;
  double without = 0;
  for (int i = 0; i < 50; ++i) {
    const PlainVector query = random_row(topics, random);
    const auto best = built.best_of(query, all_rows(built.n_rows), 10);
    const auto recall = [&](const std::vector<ScoredRow>& found) {
      double n = 0;
      for (const ScoredRow& hit : found) n += hit.score >= best.back() * (1 - 1e-5) ? 1 : 0;
      return n / 10;
    };
    without += recall(built.search(query, {.query_cut = 2, .heap_factor = 1}));
    with += recall(built.search(query, {.query_cut = 2, .heap_factor = 1, .n_knn = 64}));
  }
  EXPECT_GT(with, without + 1);
}

TEST(SeismicBlocks, NeighboursOfFewRowsAreFilledUpWithTheRow) {
  BlockParams params;
  params.n_neighbours = 4;
  Built built(column_of({sparse({1}, {1.0F}), sparse({1, 2}, {1.0F, 1.0F}), PlainVector{},
                         sparse({7}, {1.0F})}),
              params);
  const auto neighbours = [&](std::uint32_t row) {
    const auto found = built.blocks.neighbours(row);
    return std::vector<std::uint32_t>(found.begin(), found.end());
  };
  EXPECT_EQ(neighbours(0), (std::vector<std::uint32_t>{1, 0, 0, 0}));
  EXPECT_EQ(neighbours(1), (std::vector<std::uint32_t>{0, 1, 1, 1}));
  EXPECT_EQ(neighbours(2), (std::vector<std::uint32_t>{2, 2, 2, 2}));
  EXPECT_EQ(neighbours(3), (std::vector<std::uint32_t>{3, 3, 3, 3}));
}

}  // namespace
}  // namespace quiver::index::sparse

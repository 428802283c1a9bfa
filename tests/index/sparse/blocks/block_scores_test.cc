#include <gtest/gtest.h>

#include <vector>

#include "index/sparse/blocks/block_scores.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse::testing {
namespace {

TEST(BlockScorer, EstimatesBoundTheScoresOfWholeSummaries) {
  Random random(24);
  const auto rows = random_rows({.n_rows = 400}, random);
  const auto column = column_of(rows);
  const TermMap terms = TermMap::of(column, 0, 400);
  const Records records = Records::build(column, 400, terms, Codec::kF32);
  const Cancel cancel;
  const auto blocks =
      Blocks::build(column, 400, terms, records, {.n_postings = 1000, .summary_energy = 1},
                    {nullptr, cancel, 0, nullptr});
  ASSERT_TRUE(blocks) << blocks.error().to_string();
  for (int q = 0; q < 20; ++q) {
    const PlainVector query = random_row({}, random);
    const auto found = terms.terms_of({query.indices, query.values});
    std::vector<float> table(terms.size() + 1, 0);
    for (const QueryTerm& term : found) table[term.term] = term.weight;
    BlockScorer scorer;
    WorkCounters work;
    ASSERT_TRUE(scorer.score(*blocks, found, {.query_cut = 5, .estimate_mass = 1}, cancel, work));
    EXPECT_LE(work.n_lists, 5U);
    EXPECT_FALSE(scorer.blocks().empty());
    for (const ScoredBlock& block : scorer.blocks()) {
      const float bound = static_cast<float>(block.sum()) * scorer.unit() * (1 + 1e-5F);
      for (const std::uint32_t row : blocks->rows(block.block())) {
        EXPECT_LE(records.score(table.data(), row), bound);
      }
    }
  }
}

}  // namespace
}  // namespace quiver::index::sparse::testing

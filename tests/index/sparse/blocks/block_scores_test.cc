#include "index/sparse/blocks/block_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;

/// The code of `term` in the summary of each block of a list.
std::map<std::uint32_t, std::uint32_t> codes_of_term(const Blocks& blocks, std::uint32_t list,
                                                     std::uint32_t term) {
  std::map<std::uint32_t, std::uint32_t> codes;
  if (blocks.list(list).n_blocks == 0) return codes;
  const SummaryView summaries = blocks.summaries(blocks.list(list));
  const std::uint32_t rank = summaries.rank(term);
  if (rank == SummaryView::kNone) return codes;
  const SummaryView::Run run = summaries.run(rank);
  for (std::uint32_t i = 0; i < run.n; ++i) {
    codes[blocks.list(list).first_block + run.block(i)] = run.code(i);
  }
  return codes;
}

/// Terms of positive weight, largest first.
std::vector<QueryTerm> positive_terms(std::vector<QueryTerm> terms) {
  std::erase_if(terms, [](const QueryTerm& term) { return term.weight <= 0; });
  std::sort(terms.begin(), terms.end(), [](const QueryTerm& a, const QueryTerm& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.term < b.term;
  });
  return terms;
}

TEST(BlockScorer, SumsAreThoseOfTheSummaries) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  const Topics topics{.n_rows = 800, .n_terms = 200, .negative_share = 0.2};
  const Built built(column_of(random_rows(topics, random)));
  BlockScorer scorer;
  const Cancel cancel;
  for (int q = 0; q < 10; ++q) {
    const PlainVector query = random_row(topics, random);
    const auto terms = built.terms.terms_of({query.indices, query.values});
    const auto chosen = positive_terms(terms);
    const std::uint32_t query_cut = 1 + static_cast<std::uint32_t>(q);
    WorkCounters work;
    ASSERT_TRUE(scorer.score(built.blocks, terms, {.query_cut = query_cut, .estimate_mass = 1},
                             cancel, work));
    std::map<std::uint32_t, double> wanted;
    const std::size_t n_lists = std::min<std::size_t>(query_cut, chosen.size());
    for (std::size_t l = 0; l < n_lists; ++l) {
      const ListHeader list = built.blocks.list(chosen[l].term);
      for (std::uint32_t b = 0; b < list.n_blocks; ++b) wanted[list.first_block + b] += 0;
      for (const QueryTerm& term : chosen) {
        for (const auto& [block, code] : codes_of_term(built.blocks, chosen[l].term, term.term)) {
          wanted[block] += double{term.weight} * code * built.blocks.scale();
        }
      }
    }
    ASSERT_EQ(scorer.blocks().size(), wanted.size());
    for (const ScoredBlock& block : scorer.blocks()) {
      const double estimate = double{scorer.unit()} * block.sum();
      EXPECT_NEAR(estimate, wanted.at(block.block()), 1e-4 * (1 + wanted.at(block.block())));
    }
    EXPECT_LE(work.n_lists, n_lists);
  }
}

/// Whole summaries bound the scores of their rows, as far as weights are positive.
TEST(BlockScorer, WholeSummariesBoundScoresFromAbove) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  const Topics topics{.n_rows = 500, .n_terms = 150};
  const Built built(column_of(random_rows(topics, random)), everything_kept());
  BlockScorer scorer;
  const Cancel cancel;
  for (int q = 0; q < 10; ++q) {
    const PlainVector query = random_row(topics, random);
    const auto terms = built.terms.terms_of({query.indices, query.values});
    WorkCounters work;
    ASSERT_TRUE(
        scorer.score(built.blocks, terms, {.query_cut = 100, .estimate_mass = 1}, cancel, work));
    ASSERT_FALSE(scorer.blocks().empty());
    for (const ScoredBlock& block : scorer.blocks()) {
      for (const std::uint32_t row : built.blocks.rows(block.block())) {
        EXPECT_GE(double{scorer.unit()} * block.sum(), built.exact(query, row) * 0.9999);
      }
    }
  }
}

TEST(BlockScorer, LessMassLooksAtFewerTermsAndNeverMore) {
  Random random(kSeed);
  const Topics topics{.n_rows = 500, .n_terms = 150};
  const Built built(column_of(random_rows(topics, random)));
  const PlainVector query = random_row(topics, random);
  const auto terms = built.terms.terms_of({query.indices, query.values});
  const Cancel cancel;
  std::map<std::uint32_t, double> before;
  std::uint64_t bytes_before = 0;
  for (const float mass : {0.0F, 0.3F, 0.8F, 1.0F}) {
    BlockScorer scorer;
    WorkCounters work;
    ASSERT_TRUE(scorer.score(built.blocks, terms, {.estimate_mass = mass}, cancel, work));
    EXPECT_GE(work.n_bytes, bytes_before);
    bytes_before = work.n_bytes;
    for (const ScoredBlock& block : scorer.blocks()) {
      const double estimate = double{scorer.unit()} * block.sum();
      EXPECT_GE(estimate, before[block.block()] * 0.9999);
      before[block.block()] = estimate;
    }
  }
}

TEST(BlockScorer, NoPositiveWeightsAndCancelledQueries) {
  Random random(kSeed);
  const Topics topics{.n_rows = 100, .n_terms = 50};
  const Built built(column_of(random_rows(topics, random)));
  BlockScorer scorer;
  const Cancel cancel;
  WorkCounters work;
  const std::vector<QueryTerm> good = {{0, 1.0F}};
  ASSERT_TRUE(scorer.score(built.blocks, good, {}, cancel, work));
  const std::vector<QueryTerm> negative = {{0, -1.0F}, {1, 0.0F}};
  ASSERT_TRUE(scorer.score(built.blocks, negative, {}, cancel, work));
  EXPECT_TRUE(scorer.blocks().empty()) << "nothing is left of the query before";
  cancel.cancel();
  const auto cancelled = scorer.score(built.blocks, good, {}, cancel, work);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::sparse

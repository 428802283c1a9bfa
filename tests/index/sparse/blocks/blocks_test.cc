// Searching Seismic's blocks, against the definition: every row scored.
#include <gtest/gtest.h>

#include "index/sparse/blocks/best_first.h"
#include "index/sparse/blocks/block_scores.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/visited.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;

TEST(SeismicBlocks, WithNothingLeftOutIsExactOverTheListsThatAreWalked) {
  Random random(kSeed);
  const Topics topics;
  for (const char* blocking : {"kmeans", "fixed"}) {
    BlockParams params = everything_kept();
    params.blocking = blocking;
    Built built(column_of(random_rows(topics, random)), params);
    for (int i = 0; i < 30; ++i) {
      const PlainVector query = random_row(topics, random);
      for (const std::uint32_t cut : {1U, 4U, 100U}) {
        const auto found = built.search(query, {.query_cut = cut, .heap_factor = 0});
        built.expect_best_of(query, found, built.reachable(query, cut), 10);
      }
    }
  }
}

TEST(SeismicBlocks, WholeSummariesAreBoundsSoHeapFactorOneIsExactToo) {
  Random random(kSeed);
  const Topics topics;
  BlockParams params = everything_kept();
  params.centroid_fraction = 0.2F;
  params.min_cluster_size = 2;
  Built built(column_of(random_rows(topics, random)), params);
  for (int i = 0; i < 50; ++i) {
    const PlainVector query = random_row(topics, random);
    const auto found =
        built.search(query, {.query_cut = 100, .heap_factor = 1, .estimate_mass = 1});
    built.expect_best_of(query, found, all_rows(built.n_rows), 10);
  }
  EXPECT_LT(built.work.n_codes_scored, 50U * 1000) << "half of all rows: nothing was pruned";
}

TEST(SeismicBlocks, DefaultsFindMostOfTheBest) {
  Random random(kSeed);
  const Topics topics{.n_rows = 5000};
  BlockParams params;
  params.n_postings = 150;
  Built built(column_of(random_rows(topics, random)), params, Codec::kU8);
  double recall = 0;
  constexpr int kQueries = 50;
  for (int i = 0; i < kQueries; ++i) {
    const PlainVector query = random_row(topics, random);
    const auto best = built.best_of(query, all_rows(built.n_rows), 10);
    for (const ScoredRow& hit : built.search(query, {})) {
      recall += built.exact(query, hit.row) >= best.back() * (1 - 1e-6) ? 1 : 0;
    }
  }
  EXPECT_GE(recall / kQueries / 10, 0.93);
}

TEST(SeismicBlocks, FiltersAreObeyedAndEverythingAllowedIsFound) {
  Random random(kSeed);
  const Topics topics{.n_rows = 800};
  Built built(column_of(random_rows(topics, random)), everything_kept());
  for (const Bitset& allowed : base::some_filters(built.n_rows, random)) {
    const PlainVector query = random_row(topics, random);
    std::set<std::uint32_t> rows;
    for (const std::uint32_t row : built.reachable(query, 100)) {
      if (allowed.test(row)) rows.insert(row);
    }
    const auto found =
        built.search(query, {.query_cut = 100, .heap_factor = 0}, 10, RowFilter::of(allowed));
    built.expect_best_of(query, found, rows, 10);
  }
}

TEST(SeismicBlocks, NegativeValuesAndWeightsCount) {
  Random random(kSeed);
  const Topics topics{.n_rows = 1000, .negative_share = 0.3};
  Built built(column_of(random_rows(topics, random)), everything_kept());
  for (int i = 0; i < 30; ++i) {
    const PlainVector query = random_row(topics, random);
    const auto found = built.search(query, {.query_cut = 1000, .heap_factor = 0});
    built.expect_best_of(query, found, built.reachable(query, 1000), 10);
    const auto all = built.best_of(query, all_rows(built.n_rows), 10);
    ASSERT_EQ(found.size(), 10U);
    EXPECT_NEAR(found.back().score, all.back(), 1e-4) << "positive products are in walked lists";
  }
}

TEST(SeismicBlocks, OnlyNegativeWeightsFindNothing) {
  Built built(column_of({sparse({1, 2}, {1.0F, 2.0F}), sparse({2}, {1.0F})}));
  EXPECT_TRUE(built.search(sparse({1, 2}, {-1.0F, -1.0F}), {}).empty());
}

TEST(SeismicBlocks, OddCollections) {
  const PlainVector query = sparse({3, 70'000}, {1.0F, 0.5F});
  Built nothing(column_of({}));
  EXPECT_TRUE(nothing.search(query, {}).empty());
  Built empty_rows(column_of({PlainVector{}, PlainVector{}, PlainVector{}}));
  EXPECT_TRUE(empty_rows.search(query, {}).empty());
  Built unknown(column_of({sparse({1}, {1.0F}), PlainVector{}, sparse({2}, {1.0F})}));
  EXPECT_TRUE(unknown.search(query, {}).empty());
  Built single(
      column_of({sparse({3}, {2.0F}), PlainVector{}, sparse({3}, {1.0F}), sparse({4}, {9.0F})}));
  const auto found = single.search(query, {}, 100);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].row, 0U);
  EXPECT_EQ(found[1].row, 2U);
  EXPECT_TRUE(single.search(query, {}, 0).empty());
}

TEST(SeismicBlocks, EqualValuesAndEqualRowsAreOrderedByRow) {
  std::vector<PlainVector> rows(500, sparse({1, 5, 9}, {0.5F, 0.5F, 0.5F}));
  Built built(column_of(rows), everything_kept());
  const auto found = built.search(sparse({5, 9}, {1.0F, 1.0F}), {.heap_factor = 0}, 20);
  ASSERT_EQ(found.size(), 20U);
  for (std::uint32_t i = 0; i < 20; ++i) EXPECT_EQ(found[i].row, i);
}

TEST(SeismicBlocks, EachRowIsFoundByItsStrongestComponents) {
  Random random(kSeed);
  const Topics topics{.n_rows = 1500};
  BlockParams params;
  params.n_postings = 2;  // nearly all postings are pruned
  const auto rows = random_rows(topics, random);
  Built built(column_of(rows), params);
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    EXPECT_TRUE(built.reachable(rows[row], 1).contains(row)) << "row " << row;
  }
}

TEST(SeismicBlocks, WideVocabularies) {
  Random random(kSeed);
  std::vector<PlainVector> rows;
  for (int i = 0; i < 3000; ++i) {
    PlainVector row;
    for (std::uint32_t j = 0; j < 30; ++j) {  // 90,000 components, up to the largest index
      const auto index = static_cast<std::uint32_t>(j * 143'165'577ULL + random() % 6000);
      row.indices.push_back(j == 29 && i % 2 == 0 ? 0xFFFFFFFF : index);
      row.values.push_back(1 + static_cast<float>(random() % 100));
    }
    rows.push_back(std::move(row));
  }
  Built built(column_of(rows), everything_kept());
  ASSERT_GT(built.terms.size(), 65'536U);
  for (int i = 0; i < 20; ++i) {
    const PlainVector& query = rows[random() % rows.size()];
    const auto found =
        built.search(query, {.query_cut = 100, .heap_factor = 1, .estimate_mass = 1});
    const auto reachable = built.reachable(query, 100);
    const auto wanted = built.best_of(query, reachable, 10);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t j = 0; j < found.size(); ++j) EXPECT_NEAR(found[j].score, wanted[j], 1);
  }
}

TEST(SeismicBlocks, MoreThan65535BlocksAreNotMade) {
  std::vector<PlainVector> rows(70'000, sparse({1}, {0.5F}));
  for (const char* blocking : {"fixed", "kmeans"}) {
    BlockParams params = everything_kept();
    params.blocking = blocking;
    params.block_size = 1;
    params.max_block_size = 1;
    params.centroid_fraction = 0.01F;
    Built built(column_of(rows), params);
    EXPECT_LE(built.blocks.n_blocks(), kMaxBlocks);
    EXPECT_EQ(built.search(sparse({1}, {1.0F}), {.heap_factor = 0}, 70'000).size(), 70'000U);
  }
}

TEST(SeismicBlocks, BudgetAndPatienceLimitTheWork) {
  Random random(kSeed);
  const Topics topics;
  Built built(column_of(random_rows(topics, random)));
  const PlainVector query = random_row(topics, random);
  const auto scored = [&](const BlockSearchParams& params) {
    built.work = {};
    EXPECT_FALSE(built.search(query, params).empty());
    return built.work.n_codes_scored;
  };
  const auto all = scored({.heap_factor = 0, .head_factor = 0});
  EXPECT_GT(all, 300U);
  EXPECT_EQ(scored({.heap_factor = 0, .head_factor = 0, .budget = 37}), 37U);
  EXPECT_LT(scored({.heap_factor = 0, .head_factor = 0, .patience = 50}), all);
  EXPECT_EQ(scored({.heap_factor = 0, .head_factor = 0, .patience = 1'000'000}), all);
}

TEST(SeismicBlocks, HeadsSaveRecordsAndLoseLittle) {
  Random random(kSeed);
  const Topics topics{.n_nonzero = 120};
  BlockParams params = everything_kept();
  params.head_terms = 32;
  Built built(column_of(random_rows(topics, random)), params);
  double n_found = 0;
  std::uint64_t bytes_with = 0;
  std::uint64_t bytes_without = 0;
  for (int i = 0; i < 30; ++i) {
    const PlainVector query = random_row(topics, random);
    built.work = {};
    const auto exact = built.search(query, {.heap_factor = 0, .head_factor = 0});
    built.expect_best_of(query, exact, built.reachable(query, 10), 10);
    bytes_without += built.work.n_bytes;
    built.work = {};
    const auto found = built.search(query, {.heap_factor = 0, .head_factor = 0.6F});
    bytes_with += built.work.n_bytes;
    for (const ScoredRow& hit : found) n_found += hit.score >= exact.back().score ? 1 : 0;
  }
  EXPECT_GE(n_found / 300, 0.9);
  EXPECT_LT(bytes_with, bytes_without);
}

TEST(SeismicBlocks, CancelledSearchAnswersWhy) {
  Random random(kSeed);
  const Topics topics;
  Built built(column_of(random_rows(topics, random)));
  const PlainVector query = random_row(topics, random);
  const auto terms = built.terms.terms_of({query.indices, query.values});
  const std::vector<float> table(built.terms.size() + 1, 0);
  built.cancel.cancel();
  std::vector<ScoredRow> found;
  const BlockQuery one{terms, table.data(), {}, 10, &found};
  const auto status = built.blocks.search(std::span(&one, 1), built.records,
                                          RowFilter::all(built.n_rows), built.cancel, built.work);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::sparse

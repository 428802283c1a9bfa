#include <gtest/gtest.h>

#include "index/sparse/blocks/blocking.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/pruning.h"
#include "index/sparse/blocks/summaries.h"
#include "index/sparse/rows/top_components.h"
#include "tests/index/sparse/blocks/blocks_build_support.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;

TEST(SeismicBlocking, BlocksArePartitionsWithinLimits) {
  Random random(kSeed);
  const Rows rows(random_rows({.n_rows = 3000}, random));
  BlockParams params;
  params.n_postings = 1'000'000;
  const auto lists = prune(rows.column, rows.coded, params);
  for (const char* blocking : {"kmeans", "fixed"}) {
    params.blocking = blocking;
    Blocker blocker(rows.coded, params);
    for (std::uint32_t term = 0; term < rows.terms.size(); term += 7) {
      Grouping grouping;
      blocker.group(lists.list(term), term, grouping);
      std::vector<std::uint32_t> wanted;
      for (const Posting& posting : lists.list(term)) wanted.push_back(posting.row);
      auto got = grouping.rows;
      std::sort(wanted.begin(), wanted.end());
      std::sort(got.begin(), got.end());
      EXPECT_EQ(got, wanted);
      const std::size_t limit =
          params.blocking == "fixed" ? params.block_size : params.max_block_size;
      for (std::size_t b = 0; b < grouping.n_blocks(); ++b) {
        const auto block = grouping.block(b);
        EXPECT_GE(block.size(), 1U);
        EXPECT_LE(block.size(), limit);
        EXPECT_TRUE(std::is_sorted(block.begin(), block.end()));
      }
      Grouping again;
      blocker.group(lists.list(term), term, again);
      EXPECT_EQ(again.rows, grouping.rows);
      EXPECT_EQ(again.first, grouping.first);
    }
  }
}

TEST(SeismicBlocking, RowsOfOneTopicMeet) {
  std::vector<PlainVector> vectors;  // four topics that share component 0
  for (std::uint32_t i = 0; i < 400; ++i) {
    const std::uint32_t topic = i % 4;
    vectors.push_back(sparse({0, 1 + topic * 2, 2 + topic * 2}, {1.0F, 5.0F, 5.0F}));
  }
  const Rows rows(vectors);
  BlockParams params;
  Blocker blocker(rows.coded, params);
  Grouping grouping;
  blocker.group(prune(rows.column, rows.coded, params).list(0), 1, grouping);
  for (std::size_t b = 0; b < grouping.n_blocks(); ++b) {
    std::set<std::uint32_t> topics;
    for (const std::uint32_t row : grouping.block(b)) topics.insert(row % 4);
    EXPECT_EQ(topics.size(), 1U);
  }
}

}  // namespace
}  // namespace quiver::index::sparse

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

std::size_t list_size(const PostingLists& lists, std::uint32_t term) {
  return lists.list(term).size();
}

void expect_sorted(const PostingLists& lists, std::uint32_t n_terms) {
  for (std::uint32_t term = 0; term < n_terms; ++term) {
    const auto list = lists.list(term);
    for (std::size_t i = 1; i < list.size(); ++i) {
      EXPECT_TRUE(list[i - 1].value > list[i].value ||
                  (list[i - 1].value == list[i].value && list[i - 1].row < list[i].row));
    }
  }
}

TEST(SeismicPruning, ThresholdIsThatOfTheSortedValues) {
  Random random(kSeed);
  for (const std::size_t n : {1U, 2U, 10U, 1000U}) {
    std::vector<float> values(n);
    for (float& value : values)
      value = static_cast<float>(static_cast<int>(random() % 40) - 20) / 7;
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end(),
              [](float a, float b) { return std::abs(a) > std::abs(b); });
    for (std::size_t budget = 0; budget < n; budget += 1 + n / 50) {
      const auto threshold = threshold_for(values, budget);
      EXPECT_EQ(threshold.value, std::abs(sorted[budget]));
      std::size_t n_above = 0;
      std::size_t n_equal = 0;
      for (const float value : values) {
        n_above += std::abs(value) > threshold.value ? 1 : 0;
        n_equal += std::abs(value) == threshold.value ? 1 : 0;
      }
      EXPECT_EQ(n_above + threshold.n_kept, budget);
      EXPECT_EQ(threshold.n_equal, n_equal);
    }
  }
}

TEST(SeismicPruning, GlobalKeepsExactlyTheBudget) {
  Random random(kSeed);
  const Rows rows(random_rows({.n_rows = 1000}, random));
  for (const std::uint32_t n_postings : {1U, 5U, 20U, 100U}) {
    BlockParams params;
    params.n_postings = n_postings;
    params.max_fraction = 1000;
    params.n_covered = 0;
    const auto lists = prune(rows.column, rows.coded, params);
    const std::size_t budget = std::size_t{n_postings} * rows.terms.size();
    EXPECT_EQ(lists.postings.size(), std::min(budget, rows.column.values.size()));
    expect_sorted(lists, rows.terms.size());
    float smallest_kept = 1e9F;
    for (const Posting& posting : lists.postings) {
      smallest_kept = std::min(smallest_kept, posting.value);
    }
    std::size_t n_above = 0;
    for (const float value : rows.column.values) n_above += value > smallest_kept ? 1 : 0;
    EXPECT_LE(n_above, lists.postings.size());
  }
}

TEST(SeismicPruning, ListsAreCappedAndTheirStrongestStay) {
  Random random(kSeed);
  const Rows rows(random_rows({.n_rows = 1000}, random));
  for (const char* pruning : {"global", "fixed", "coi"}) {
    BlockParams whole;
    whole.n_postings = 1'000'000;
    const auto all = prune(rows.column, rows.coded, whole);
    BlockParams params;
    params.pruning = pruning;
    params.n_postings = 25;
    params.max_fraction = 2;
    params.coi_fraction = 0.1F;
    params.n_covered = 0;
    const auto lists = prune(rows.column, rows.coded, params);
    expect_sorted(lists, rows.terms.size());
    for (std::uint32_t term = 0; term < rows.terms.size(); ++term) {
      const std::size_t n = list_size(all, term);
      const std::size_t limit = std::string(pruning) == "global" ? 50
                                : std::string(pruning) == "fixed"
                                    ? 25
                                    : std::min<std::size_t>(25, n / 10 + 1);
      EXPECT_LE(list_size(lists, term), limit);
      if (std::string(pruning) != "global") {
        EXPECT_EQ(list_size(lists, term), std::min(n, limit));
      }
      for (std::size_t i = 0; i < list_size(lists, term); ++i) {
        EXPECT_EQ(lists.list(term)[i].row, all.list(term)[i].row);
      }
    }
  }
}

TEST(SeismicPruning, EqualValuesAreSpreadOverRows) {
  const Rows rows(std::vector<PlainVector>(1000, sparse({1, 2, 3, 4}, {1, 1, 1, 1})));
  BlockParams params;
  params.n_postings = 250;
  params.n_covered = 0;
  const auto lists = prune(rows.column, rows.coded, params);
  EXPECT_EQ(lists.postings.size(), 1000U);
  std::set<std::uint32_t> kept;
  for (const Posting& posting : lists.postings) kept.insert(posting.row);
  EXPECT_GT(kept.size(), 900U);
}

}  // namespace
}  // namespace quiver::index::sparse

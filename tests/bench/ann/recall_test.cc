#include "bench/ann/recall.h"

#include <gtest/gtest.h>

namespace quiver::bench {
namespace {

using Hits = std::vector<index::Hit>;

// Ten rows; exact scores of one query, with a tie across the border of the four best:
//   row    0  1  2  3  4  5  6  7
//   score  9  8  7  5  5  5  4  1        k = 4: the fourth best is 5, and rows 3, 4, 5 all have it.
const std::vector<float> kExact = {9, 8, 7, 5, 5, 5, 4, 1};

Hits hits(const std::vector<std::uint32_t>& rows) {
  Hits all;
  for (const auto row : rows) all.push_back({kExact[row], row});
  return all;
}

double recall_at_4(const std::vector<std::uint32_t>& rows) {
  return recall_of(perfect_answer(kExact, 4), 4, hits(rows));
}

TEST(Recall, TiesCountWhicheverIsReturned) {
  EXPECT_EQ(recall_at_4({0, 1, 2, 3}), 1);
  EXPECT_EQ(recall_at_4({0, 1, 2, 5}), 1);
  EXPECT_EQ(recall_at_4({3, 4, 5, 0}), 1);  // all reach the fourth best, though 8 and 7 are missing
  EXPECT_EQ(recall_at_4({0, 1, 2, 6}), 0.75);
  EXPECT_EQ(recall_at_4({6, 7}), 0);
  EXPECT_EQ(recall_at_4({}), 0);
}

TEST(Recall, CountsARowOnceAndOnlyTheFirstK) {
  EXPECT_EQ(recall_at_4({0, 0, 0, 0}), 0.25);
  EXPECT_EQ(recall_at_4({0, 7, 6, 6, 1, 2}), 0.25);  // 1 and 2 come too late
}

TEST(Recall, OfFewerMatchesThanK) {
  const std::vector<float> two = {3, 2};
  const Perfect perfect = perfect_answer(two, 4);
  EXPECT_EQ(perfect.n, 2);
  EXPECT_EQ(recall_of(perfect, 4, Hits{{3, 0}, {2, 1}}), 1);
  EXPECT_EQ(recall_of(perfect, 4, Hits{{3, 0}}), 0.5);
  EXPECT_EQ(recall_of(perfect_answer({}, 4), 4, {}), 1);  // nothing to find
}

TEST(Recall, FloorIsAMillionthBelowTheKthScore) {
  EXPECT_DOUBLE_EQ(hit_floor({1, 1000}), 1000 - 1e-3);
  EXPECT_DOUBLE_EQ(hit_floor({1, -1000}), -1000 - 1e-3);  // distances are negative: still below
  EXPECT_DOUBLE_EQ(hit_floor({1, 0, 3}), -3e-6);          // docs/decisions/0008
  EXPECT_DOUBLE_EQ(hit_floor({1, 1e-5F, 1e-6}), 1e-5F * (1 - 1e-6));
  const Perfect perfect{1, 1000};
  EXPECT_EQ(recall_of(perfect, 1, Hits{{999.9995F, 1}}), 1);
  EXPECT_EQ(recall_of(perfect, 1, Hits{{999.99F, 1}}), 0);
}

TEST(Recall, Summary) {
  const Perfect perfect = perfect_answer(kExact, 4);
  const std::vector<Perfect> wanted(20, perfect);
  std::vector<Hits> returned(20, hits({0, 1, 2, 4}));
  returned[7] = hits({0, 1});
  returned[8] = hits({0, 1, 1, 1});  // four hits, of two rows: short
  const auto summary = summarise_recall(wanted, 4, returned);
  EXPECT_DOUBLE_EQ(summary.mean, (18 + 0.5 + 0.5) / 20);
  EXPECT_EQ(summary.p5, 0.5);
  EXPECT_EQ(summary.n_short, 2);
}

TEST(Recall, NoticesThatTheTruthIsNone) {
  const std::vector<Perfect> wrong = {perfect_answer(std::vector<float>{8, 7, 5, 4}, 4)};
  EXPECT_EQ(count_better_than_truth(wrong, std::vector<Hits>{hits({0, 1, 2, 3})}), 1);
  EXPECT_EQ(count_better_than_truth(wrong, std::vector<Hits>{hits({1, 2, 3, 6})}), 0);
  EXPECT_EQ(count_better_than_truth(wrong, std::vector<Hits>{hits({0, 1, 2})}), 0);
}

}  // namespace
}  // namespace quiver::bench

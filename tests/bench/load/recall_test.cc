#include "bench/load/recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <vector>

namespace quiver::bench {
namespace {

using testing::ElementsAre;

TEST(RecallTest, HitsOfAnAnswer) {
  EXPECT_THAT(hits_of(R"({"result":{"points":[{"id":31,"score":1.5,"payload":{"id":7,"score":9}},)"
                      R"({"id":"ab","version":1,"score":1},{"id":0,"score":-0.5}]}})"),
              ElementsAre(ScoredId{31, 1.5}, ScoredId{-1, 1}, ScoredId{0, -0.5}));
  EXPECT_TRUE(hits_of(R"({"result":{"points":[]}})").empty());
  EXPECT_TRUE(hits_of(R"({"status":{"error":"x"}})").empty());
}

TEST(RecallTest, HitsThatAreInTheTruthOrTieWithItsLast) {
  const std::vector<std::int64_t> truth = {1, 2, 3, 4};
  const auto recall = [&](std::vector<ScoredId> hits, std::optional<double> last_score) {
    return recall_of(hits, truth, last_score);
  };
  EXPECT_EQ(recall({{4, 5}, {9, 4}, {1, 9}}, std::nullopt), 0.5);
  EXPECT_EQ(recall({{4, 5}, {3, 7}, {2, 8}, {1, 9}}, std::nullopt), 1);
  EXPECT_EQ(recall({}, 5), 0);
  EXPECT_EQ(recall({{1, 9}, {2, 8}, {3, 7}, {9, 5}}, std::nullopt), 0.75);
  EXPECT_EQ(recall({{1, 9}, {2, 8}, {3, 7}, {9, 5}}, 5), 1);
  EXPECT_EQ(recall({{1, 9}, {2, 8}, {3, 7}, {9, 4.999999}}, 5), 1);
  EXPECT_EQ(recall({{1, 9}, {2, 8}, {3, 7}, {9, 4.9}}, 5), 0.75);
  EXPECT_EQ(recall({{1, 9e-9}, {2, 8e-9}, {3, 7e-9}, {9, 4.9e-9}}, 5e-9), 0.75);
  EXPECT_EQ(recall({{1, 1}, {1, 1}, {9, 5}, {9, 5}}, 5), 0.5);  // each point once
  EXPECT_EQ(recall({{1, 1}, {2, 2}, {3, 3}, {8, 5}, {9, 5}}, 5), 1);
}

TEST(RecallTest, OfFewerMatchesThanK) {
  const std::vector<std::int64_t> truth = {7, 2, -1, -1};
  EXPECT_THAT(matches(truth), ElementsAre(7, 2));
  EXPECT_EQ(recall_of(std::vector<ScoredId>{{-1, 3}, {2, 2}}, matches(truth), std::nullopt), 0.5);
  EXPECT_EQ(recall_of({}, matches(std::span(truth).subspan(2)), std::nullopt), 1);
}

}  // namespace
}  // namespace quiver::bench

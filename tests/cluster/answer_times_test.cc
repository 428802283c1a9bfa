#include "cluster/answer_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quiver::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

class AnswerTimesTest : public testing::Test {
 protected:
  static NodeAddress node(const std::string& name) { return {name, "http://" + name}; }
  void note(const std::string& name, milliseconds took, int n = 4) {
    for (int i = 0; i < n; ++i) {
      times_.begin(node(name), now_);
      times_.note(node(name), took, now_);
    }
  }
  std::vector<std::string> order() {
    std::vector<NodeAddress> nodes = {node("a"), node("b"), node("c")};
    times_.order(nodes, now_);
    std::vector<std::string> names;
    for (const auto& one : nodes) names.push_back(one.peer);
    return names;
  }

  AnswerTimes times_;
  AnswerTimes::Clock::time_point now_;
};

TEST_F(AnswerTimesTest, OneThatOwesAnAnswerIsLastUntilItGivesOne) {
  note("a", milliseconds(1));
  note("b", milliseconds(1));
  times_.begin(node("a"), now_);
  now_ += milliseconds(20);
  EXPECT_THAT(order(), ElementsAre("a", "b", "c"));
  now_ += milliseconds(10);
  times_.begin(node("a"), now_);
  EXPECT_THAT(order(), ElementsAre("b", "c", "a")) << "since the first of its questions";
  times_.note(node("a"), milliseconds(1), now_);
  EXPECT_THAT(order(), ElementsAre("a", "b", "c")) << "one of two is answered";
}

TEST_F(AnswerTimesTest, FromThreeTimesTheFastestOnAnAnswerIsLate) {
  std::vector<NodeAddress> nodes = {node("a"), node("b")};
  EXPECT_FALSE(times_.order(nodes, now_)) << "nothing is known";
  note("a", milliseconds(10));
  note("b", milliseconds(10));
  EXPECT_FALSE(times_.order(nodes, now_)) << "both are fast";
  note("a", milliseconds(200), 1);
  EXPECT_EQ(times_.order(nodes, now_), milliseconds(50));
  EXPECT_EQ(nodes.front(), node("a")) << "once is no habit";
  now_ += seconds(31);
  EXPECT_FALSE(times_.order(nodes, now_)) << "it is forgotten";
  note("a", milliseconds(200));
  EXPECT_FALSE(times_.order(nodes, now_));
  EXPECT_EQ(nodes.front(), node("b"));
  now_ += seconds(30);
  EXPECT_EQ(times_.order(nodes, now_), milliseconds(50)) << "it is tried again";
  EXPECT_EQ(nodes.front(), node("a"));
}

TEST_F(AnswerTimesTest, WithoutTimesTheOrderStays) {
  EXPECT_THAT(order(), ElementsAre("a", "b", "c"));
}

TEST_F(AnswerTimesTest, SlowNodesAreLast) {
  note("a", milliseconds(200));
  note("b", milliseconds(2));
  EXPECT_THAT(order(), ElementsAre("b", "c", "a"));
}

TEST_F(AnswerTimesTest, OneSlowAnswerSaysNothing) {
  note("b", milliseconds(2));
  note("a", milliseconds(200), 3);
  EXPECT_THAT(order(), ElementsAre("a", "b", "c"));
  note("a", milliseconds(3), 1);
  note("a", milliseconds(200), 3);
  EXPECT_THAT(order(), ElementsAre("a", "b", "c"));
  note("a", milliseconds(200), 1);
  EXPECT_THAT(order(), ElementsAre("b", "c", "a"));
}

TEST_F(AnswerTimesTest, ANodeOfWhichNothingIsKnownIsTriedBeforeASlowOne) {
  note("a", milliseconds(21));
  EXPECT_THAT(order(), ElementsAre("b", "c", "a"));
  note("b", milliseconds(21));
  EXPECT_THAT(order(), ElementsAre("c", "a", "b"));
  note("c", milliseconds(21));
  EXPECT_THAT(order(), ElementsAre("a", "b", "c"));
}

TEST_F(AnswerTimesTest, WhereAllTakeLongNoneIsSlow) {
  note("a", milliseconds(700));
  note("b", milliseconds(300));
  note("c", milliseconds(250));
  EXPECT_THAT(order(), ElementsAre("a", "b", "c"));
}

TEST_F(AnswerTimesTest, ANodeThatRefusesAtOnceIsNotFast) {
  note("b", milliseconds(30));
  note("c", milliseconds(30));
  for (int i = 0; i < 4; ++i) times_.note(node("a"), std::nullopt);
  EXPECT_THAT(order(), ElementsAre("b", "c", "a"));
}

TEST_F(AnswerTimesTest, OnlyOneReadTriesASlowNodeAgain) {
  note("a", milliseconds(200));
  note("b", milliseconds(2));
  note("c", milliseconds(2));
  now_ += seconds(30);
  EXPECT_THAT(order(), ElementsAre("a", "b", "c"));
  times_.begin(node("a"), now_);
  EXPECT_THAT(order(), ElementsAre("b", "c", "a"));
}

TEST_F(AnswerTimesTest, ASlowNodeIsAskedAgainLater) {
  note("a", milliseconds(200));
  note("b", milliseconds(2));
  note("c", milliseconds(2));
  now_ += seconds(29);
  EXPECT_THAT(order(), ElementsAre("b", "c", "a"));
  now_ += seconds(1);
  EXPECT_THAT(order(), ElementsAre("a", "b", "c"));
  note("a", milliseconds(200), 1);
  EXPECT_THAT(order(), ElementsAre("b", "c", "a"));
  now_ += seconds(30);
  note("a", milliseconds(2), 1);  // it is fast again
  EXPECT_THAT(order(), ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace quiver::cluster

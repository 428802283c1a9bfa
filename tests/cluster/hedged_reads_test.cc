#include "cluster/hedged_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cluster/first_answer.h"
#include "tests/patience.h"

namespace quiver::cluster {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

class HedgedReadsTest : public ::testing::Test {
 protected:
  static std::vector<NodeAddress> nodes(const std::vector<std::string>& names) {
    std::vector<NodeAddress> nodes;
    for (const auto& name : names) nodes.push_back({name, "http://" + name});
    return nodes;
  }
  /// Nodes whose names begin with "bad" fail at once, those with "late" answer after `release_`.
  HedgedReads::Ask ask() {
    return [this, answers = answers_](const NodeAddress& node) {
      {
        MutexLock lock(mutex_);
        asked_.push_back(node.peer);
      }
      if (node.peer.starts_with("bad")) return answers->miss(node.peer + " failed");
      while (node.peer.starts_with("late") && !release_) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      return answers->keep(node.peer);
    };
  }
  std::vector<std::string> asked() {
    MutexLock lock(mutex_);
    return asked_;
  }
  void TearDown() override {
    release_ = true;
    reads_.stop();
  }

  static constexpr auto kShort = milliseconds(1);
  static constexpr auto kLong = std::chrono::hours(1);

  Mutex mutex_;
  std::vector<std::string> asked_ QV_GUARDED_BY(mutex_);
  std::atomic<bool> release_ = false;
  std::shared_ptr<FirstAnswer<std::string>> answers_ = std::make_shared<FirstAnswer<std::string>>();
  HedgedReads reads_;
};

TEST_F(HedgedReadsTest, ANodeThatAnswersInTimeIsTheOnlyOneAsked) {
  EXPECT_TRUE(reads_.ask(nodes({"a", "b"}), kLong, ask()));
  EXPECT_EQ(answers_->take(), "a");
  EXPECT_THAT(asked(), ElementsAre("a"));
}

TEST_F(HedgedReadsTest, ALateOneIsNotWaitedFor) {
  EXPECT_TRUE(reads_.ask(nodes({"late", "b"}), kShort, ask()));
  EXPECT_EQ(answers_->take(), "b");
  EXPECT_THAT(asked(), ElementsAre("late", "b"));
}

TEST_F(HedgedReadsTest, OneThatFailsIsFollowedByTheNextAtOnce) {
  EXPECT_TRUE(reads_.ask(nodes({"bad", "bad", "c"}), kLong, ask()));
  EXPECT_EQ(answers_->take(), "c");
  EXPECT_THAT(asked(), ElementsAre("bad", "bad", "c"));
}

TEST_F(HedgedReadsTest, ALateOneCountsIfTheOthersFail) {
  std::thread release([this] {
    while (asked().size() < 3) std::this_thread::sleep_for(milliseconds(1));
    release_ = true;
  });
  EXPECT_TRUE(reads_.ask(nodes({"late", "bad", "bad"}), kShort, ask()));
  release.join();
  EXPECT_EQ(answers_->take(), "late");
}

TEST_F(HedgedReadsTest, AnErrorOfOneNodeCountsOnlyWithoutABetterAnswer) {
  const auto overloaded = [answers = answers_](const NodeAddress& node) {
    return node.peer == "good" ? answers->keep(node.peer) : answers->spare(node.peer);
  };
  EXPECT_TRUE(reads_.ask(nodes({"busy", "good"}), kLong, overloaded));
  EXPECT_EQ(answers_->take(), "good");
}

TEST_F(HedgedReadsTest, OfErrorsTheFirstIsTold) {
  const auto overloaded = [answers = answers_](const NodeAddress& node) {
    return answers->spare(node.peer);
  };
  EXPECT_FALSE(reads_.ask(nodes({"busy 1", "busy 2"}), kLong, overloaded));
  EXPECT_EQ(answers_->take(), "busy 1");
  EXPECT_EQ(std::make_shared<FirstAnswer<int>>()->take(), std::nullopt);
}

TEST_F(HedgedReadsTest, IfAllFailTheLastReasonIsTold) {
  EXPECT_FALSE(reads_.ask(nodes({"bad 1", "bad 2"}), kLong, ask()));
  EXPECT_EQ(answers_->trouble("nobody"), "bad 2 failed");
  EXPECT_FALSE(reads_.ask({}, kLong, ask()));
}

TEST_F(HedgedReadsTest, ASingleNodeIsAskedOnTheThreadThatAsks) {
  std::thread::id asked_on;
  const auto note = [&](const NodeAddress&) {
    asked_on = std::this_thread::get_id();
    return true;
  };
  EXPECT_TRUE(reads_.ask(nodes({"a"}), kShort, note));
  EXPECT_EQ(asked_on, std::this_thread::get_id());
}

/// Where all nodes are slow, more requests would make them slower.
TEST_F(HedgedReadsTest, OneReadInTwentyAsksAnotherNode) {
  std::atomic<int> n_asked = 0;
  const auto slow = [&](const NodeAddress&) {
    ++n_asked;
    std::this_thread::sleep_for(milliseconds(3));
    return true;
  };
  constexpr int kReads = 200;
  constexpr int kSaved = 10;
  for (int i = 0; i < kReads; ++i) EXPECT_TRUE(reads_.ask(nodes({"a", "b"}), kShort, slow));
  EXPECT_LE(n_asked, kReads + kReads / 20 + kSaved + 1);
}

TEST_F(HedgedReadsTest, AfterTheStopNodesAreStillAsked) {
  reads_.stop();
  EXPECT_TRUE(reads_.ask(nodes({"a"}), kShort, ask()));
  EXPECT_TRUE(reads_.ask(nodes({"bad", "b"}), kShort, ask()));
}

}  // namespace
}  // namespace quiver::cluster

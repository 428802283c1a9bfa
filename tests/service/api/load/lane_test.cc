// Admission with a clock of the test's own: nothing here waits.
#include "service/api/load/lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/api/load/cost_book.h"

namespace quiver::service::api::load {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class LaneTest : public ::testing::Test {
 protected:
  void use(double max_wait_ms) {
    lane_ = std::make_unique<Lane>(executor_, book_, metrics_,
                                   Lane::Options{max_wait_ms, "cheap", "t_"});
  }
  Lane::Admitted admit(const Patience& patience = {}) {
    return lane_->admit(kWork, patience, now_);
  }
  [[nodiscard]] Patience within(milliseconds time) const { return {now_ + time, true}; }
  /// Both threads work, each task takes 10 ms, and `n` wait: the next one would wait for `n` * 5
  /// ms.
  void load_with(int n) {
    for (int i = 0; i < 2; ++i) {
      Ticket first = admit().ticket;
      EXPECT_FALSE(first.begin(now_));
      first.end(now_ + milliseconds(10));
    }
    for (int i = 0; i < 2; ++i) {
      running_.push_back(admit().ticket);
      EXPECT_FALSE(running_.back().begin(now_));
    }
    for (int i = 0; i < n; ++i) {
      waiting_.push_back(lane_->admit(kWork, {Lane::Time::max(), false}, now_).ticket);
    }
  }
  [[nodiscard]] std::uint64_t n_refused(const std::string& reason) {
    return metrics_.counter("t_requests_refused_total", "", {{"reason", reason}, {"work", "cheap"}})
        .value();
  }

  static constexpr Work kWork{Verb::kRetrieve, 1};
  Lane::Time now_{std::chrono::hours(1)};
  Executor executor_{2, "test"};
  CostBook book_;
  MetricsRegistry metrics_;
  std::unique_ptr<Lane> lane_;
  std::vector<Ticket> running_, waiting_;
};

TEST_F(LaneTest, TakesWhatWaitsWithinDeadlineAndLimit) {
  use(100);
  load_with(10);
  EXPECT_EQ(lane_->expected_wait(), milliseconds(50));
  EXPECT_FALSE(admit(within(milliseconds(51))).refusal);
}

TEST_F(LaneTest, RefusesWhatWouldMissItsDeadline) {
  use(1000);
  load_with(10);
  const auto admitted = admit(within(milliseconds(49)));
  ASSERT_TRUE(admitted.refusal);
  EXPECT_EQ(admitted.refusal->error.code(), Code::kResourceExhausted);
  EXPECT_THAT(admitted.refusal->error.message(), HasSubstr("wait about 50.0 ms"));
  EXPECT_THAT(admitted.refusal->error.message(), HasSubstr("deadline is in 49.0 ms"));
  EXPECT_EQ(admitted.refusal->retry_after_s, 1U);
  EXPECT_EQ(n_refused("deadline"), 1U);
  EXPECT_EQ(n_refused("max_wait"), 0U);
  EXPECT_EQ(lane_->expected_wait(), milliseconds(50)) << "it is not in the queue";
}

TEST_F(LaneTest, WithoutALimitTheDeadlineStillCounts) {
  use(0);
  load_with(10'000);
  EXPECT_FALSE(admit().refusal) << "no limit, no deadline";
  const auto admitted = admit(within(milliseconds(1000)));
  ASSERT_TRUE(admitted.refusal);
  EXPECT_EQ(admitted.refusal->retry_after_s, 50U);
}

TEST_F(LaneTest, RefusesWaitsBeyondTheLimit) {
  use(200);
  load_with(40);
  EXPECT_FALSE(admit().refusal) << "200 ms are allowed";
  EXPECT_FALSE(admit().refusal) << "the one before ended with its ticket";
  waiting_.push_back(admit().ticket);
  const auto refused = admit();
  ASSERT_TRUE(refused.refusal);
  EXPECT_THAT(refused.refusal->error.message(), HasSubstr("at most 200.0 ms"));
  EXPECT_THAT(refused.refusal->error.message(), HasSubstr("service.max_wait_ms"));
  EXPECT_EQ(n_refused("max_wait"), 1U);
}

TEST_F(LaneTest, TenServicesAreNeverTooLong) {
  use(1);
  load_with(20);
  EXPECT_FALSE(admit().refusal) << "100 ms, as ten tasks of 10 ms take";
  waiting_.push_back(admit().ticket);
  EXPECT_TRUE(admit().refusal);
}

TEST_F(LaneTest, AShortQueueIsNeverTooLong) {
  use(1);
  load_with(3);
  EXPECT_FALSE(admit().refusal) << "as after a standstill of the machine";
}

TEST_F(LaneTest, WhatMayNotBeRefusedWaits) {
  use(1);
  load_with(1000);
  EXPECT_TRUE(admit().refusal);
  EXPECT_FALSE(admit({now_ + milliseconds(1), false}).refusal);
}

TEST_F(LaneTest, DropsWhatComesToItsTurnBeyondItsDeadline) {
  use(0);
  load_with(4);
  auto admitted = admit(within(milliseconds(30)));
  ASSERT_FALSE(admitted.refusal);
  const auto late = admitted.ticket.begin(now_ + milliseconds(30));
  ASSERT_TRUE(late);
  EXPECT_EQ(late->error.code(), Code::kResourceExhausted);
  EXPECT_THAT(late->error.message(), HasSubstr("waited 30.0 ms"));
  EXPECT_EQ(n_refused("late"), 1U);
  admitted.ticket.end(now_ + milliseconds(40));
  EXPECT_EQ(lane_->expected_wait(), milliseconds(20)) << "the dropped one left no trace";
  auto alone = admit(within(milliseconds(30)));
  waiting_.clear();
  EXPECT_FALSE(alone.ticket.begin(now_ + milliseconds(31))) << "it will end by its deadline";
}

TEST_F(LaneTest, DropsWhatWaitedForTwiceTheLimitWhileTheQueueIsLong) {
  use(200);
  load_with(10);
  EXPECT_FALSE(waiting_[0].begin(now_ + milliseconds(1000))) << "it may not be refused";
  auto some = admit().ticket;
  auto other = admit().ticket;
  EXPECT_FALSE(some.begin(now_ + milliseconds(400)));
  EXPECT_TRUE(other.begin(now_ + milliseconds(401)));
  auto shared = admit().ticket;
  EXPECT_FALSE(shared.begin(now_ + milliseconds(401), LateBy::kDeadline));
  auto after_standstill = admit().ticket;
  waiting_.clear();
  EXPECT_FALSE(after_standstill.begin(now_ + milliseconds(5000))) << "the queue is short";
}

TEST_F(LaneTest, ATicketThatIsDroppedLeavesTheQueue) {
  use(100);
  load_with(4);
  { const auto admitted = admit(); }
  EXPECT_EQ(lane_->expected_wait(), milliseconds(20));
  waiting_.clear();
  EXPECT_EQ(lane_->expected_wait(), milliseconds(0));
}

TEST_F(LaneTest, WaitsAreInAHistogramAndDurationsInTheBook) {
  use(100);
  Ticket ticket = admit().ticket;
  EXPECT_FALSE(ticket.begin(now_ + milliseconds(3)));
  EXPECT_FALSE(ticket.begin(now_ + milliseconds(9))) << "a second begin changes nothing";
  Ticket moved = std::move(ticket);
  moved.end(now_ + milliseconds(10));
  const std::string text = metrics_.render();
  EXPECT_THAT(text, HasSubstr("t_request_wait_seconds_count{work=\"cheap\"} 1"));
  EXPECT_THAT(text, HasSubstr("t_request_wait_seconds_sum{work=\"cheap\"} 0.003"));
  EXPECT_EQ(book_.expected(kWork), milliseconds(7));
}

}  // namespace
}  // namespace quiver::service::api::load

#include "service/api/load/wait_estimate.h"

#include <gtest/gtest.h>

#include "service/api/load/moving_average.h"

namespace quiver::service::api::load {
namespace {

using std::chrono::milliseconds;

class WaitEstimateTest : public ::testing::Test {
 protected:
  [[nodiscard]] double expected_ms() const {
    return std::chrono::duration<double, std::milli>(estimate_.expected_wait()).count();
  }
  void arrive(int n) {
    for (int i = 0; i < n; ++i) estimate_.arrive(now_);
  }
  /// A thread ends a task that took `took` and begins the next one at once.
  void next(milliseconds took) {
    estimate_.end(took);
    estimate_.begin(now_);
  }

  WaitEstimate::Time now_{std::chrono::hours(1)};
  WaitEstimate estimate_{2};
};

TEST_F(WaitEstimateTest, WithoutAQueueNothingWaits) {
  EXPECT_EQ(expected_ms(), 0);
  arrive(1);
  EXPECT_EQ(expected_ms(), 0) << "nothing is known of how long tasks take";
  estimate_.begin(now_);
  estimate_.end(milliseconds(10));
  EXPECT_EQ(expected_ms(), 0);
  EXPECT_EQ(estimate_.wait_behind(4), milliseconds(20));
}

TEST_F(WaitEstimateTest, ServiceTimesOfAllThreadsAreTheFirstEstimate) {
  arrive(1);
  estimate_.begin(now_);
  estimate_.end(milliseconds(10));
  arrive(6);
  EXPECT_DOUBLE_EQ(expected_ms(), 6 * 10 / 2);
}

TEST_F(WaitEstimateTest, MeasuredIntervalsCountOnceThereAreSome) {
  arrive(12);
  estimate_.begin(now_);
  estimate_.begin(now_);
  // Each task takes 100 ms, but the queue shrinks every 4 ms: searches that share passes.
  for (int i = 0; i < 6; ++i) {
    now_ += milliseconds(4);
    next(milliseconds(100));
  }
  EXPECT_EQ(estimate_.n_waiting(), 4U);
  EXPECT_DOUBLE_EQ(expected_ms(), 4 * 4);
}

TEST_F(WaitEstimateTest, AnIdleThreadThatWakesIsNoInterval) {
  for (int i = 0; i < 10; ++i) {
    arrive(1);
    now_ += milliseconds(1);  // the thread wakes
    estimate_.begin(now_);
    now_ += milliseconds(20);
    estimate_.end(milliseconds(20));
  }
  arrive(2);
  EXPECT_DOUBLE_EQ(expected_ms(), 2 * 20 / 2) << "only service times are known";
}

TEST_F(WaitEstimateTest, AGroupThatBeginsTogetherSharesOneInterval) {
  arrive(100);
  estimate_.begin(now_);
  estimate_.begin(now_);
  for (int group = 0; group < 6; ++group) {
    now_ += milliseconds(8);
    for (int i = 0; i < 8; ++i) next(milliseconds(8));
  }
  EXPECT_EQ(estimate_.n_waiting(), 50U);
  EXPECT_NEAR(expected_ms(), 50 * 1.0, 50 * 0.05);
}

TEST_F(WaitEstimateTest, OneStandstillDoesNotMakeTheQueueLookSlow) {
  arrive(50);
  estimate_.begin(now_);
  estimate_.begin(now_);
  for (int i = 0; i < 10; ++i) {
    now_ += milliseconds(1);
    next(milliseconds(2));
  }
  now_ += milliseconds(5000);
  next(milliseconds(5000));
  EXPECT_LE(expected_ms(), 2 * static_cast<double>(estimate_.n_waiting()));
  for (int i = 0; i < 20; ++i) {
    now_ += milliseconds(100);
    next(milliseconds(200));
  }
  EXPECT_NEAR(expected_ms() / static_cast<double>(estimate_.n_waiting()), 100, 20)
      << "a lasting change is followed";
}

TEST_F(WaitEstimateTest, TasksThatLeaveUnbegunDoNotCount) {
  arrive(1);
  estimate_.begin(now_);
  estimate_.end(milliseconds(10));
  arrive(3);
  estimate_.give_up();
  EXPECT_EQ(estimate_.n_waiting(), 2U);
  EXPECT_DOUBLE_EQ(expected_ms(), 2 * 10 / 2);
}

TEST(MovedAverage, FollowsValuesAndClipsOutliers) {
  EXPECT_DOUBLE_EQ(moved_average(8000, 16000), 9000);
  EXPECT_DOUBLE_EQ(moved_average(8000, 8e9), 8000 + (64000 - 8000) / 8.0);
  EXPECT_GT(moved_average(0, 1e6), 0) << "an average of 0 can grow";
}

}  // namespace
}  // namespace quiver::service::api::load

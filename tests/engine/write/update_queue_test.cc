#include "engine/write/update_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/threads/executor.h"

namespace quiver::engine::testing {
namespace {

/// A request of about `n_bytes` bytes.
ShardRequest request_of(std::size_t n_bytes) {
  ShardRequest request;
  PreparedChange change;
  change.points = std::vector<PointId>();
  change.payload = std::string(n_bytes, 'x');
  request.operations.emplace_back(std::move(change));
  return request;
}

class CountedDrain final : public Task::Callable {
 public:
  void call() override { ++n_calls; }
  void release() noexcept override {}
  int n_calls = 0;
};

class UpdateQueueTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kMaxBytes = 100'000;

  int n_drains() {
    lane_.drain();
    return drain_.n_calls;
  }

  Executor executor_{1, "test"};
  CountedDrain drain_;
  SerialLane lane_{executor_, Priority::kHigh};
  UpdateQueue queue_{lane_, drain_, kMaxBytes};
};

TEST_F(UpdateQueueTest, OneDrainIsPostedAtATime) {
  ASSERT_TRUE(queue_.submit(request_of(1)));
  ASSERT_TRUE(queue_.submit(request_of(1)));
  queue_.wake();
  EXPECT_EQ(n_drains(), 1);
  EXPECT_EQ(queue_.size(), 2U);
  EXPECT_EQ(queue_.take().size(), 2U);
  queue_.drained();
  EXPECT_EQ(n_drains(), 1) << "nothing waits";
  queue_.wake();
  EXPECT_EQ(n_drains(), 1);
  ASSERT_TRUE(queue_.submit(request_of(1)));
  EXPECT_EQ(n_drains(), 2);
}

TEST_F(UpdateQueueTest, OverdueRequestsAreTakenAndOthersStay) {
  auto overdue = request_of(1000);
  overdue.deadline = Deadline::after(std::chrono::nanoseconds(0));
  auto later = request_of(10);
  later.deadline = Deadline::after(std::chrono::hours(1));
  auto entry = request_of(0);
  entry.entry = std::make_shared<CommittedEntry>();
  entry.deadline = Deadline::after(std::chrono::nanoseconds(0));
  ASSERT_TRUE(queue_.submit(std::move(overdue)));
  ASSERT_TRUE(queue_.submit(std::move(later)));
  ASSERT_TRUE(queue_.submit(request_of(10)));
  ASSERT_TRUE(queue_.submit(std::move(entry)));
  EXPECT_FALSE(queue_.has_overdue()) << "a drain will take them";
  queue_.put_off();
  EXPECT_TRUE(queue_.has_overdue());
  EXPECT_EQ(queue_.take_overdue().size(), 1U);
  EXPECT_FALSE(queue_.has_overdue());
  EXPECT_EQ(queue_.size(), 3U);
  EXPECT_EQ(queue_.take().size(), 3U);
}

TEST_F(UpdateQueueTest, RequestsWhoseCallersHaveGivenUpAreTakenInEveryDrain) {
  auto given_up = request_of(1000);
  given_up.caller_deadline = Deadline::after(std::chrono::nanoseconds(0));
  auto overdue = request_of(10);
  overdue.deadline = Deadline::after(std::chrono::nanoseconds(0));
  auto later = request_of(10);
  later.caller_deadline = Deadline::after(std::chrono::hours(1));
  ASSERT_TRUE(queue_.submit(std::move(given_up)));
  ASSERT_TRUE(queue_.submit(std::move(overdue)));
  ASSERT_TRUE(queue_.submit(std::move(later)));
  EXPECT_EQ(queue_.take_given_up().size(), 1U);
  EXPECT_EQ(queue_.size(), 2U) << "the overdue one is refused only while updates are put off";
  EXPECT_EQ(queue_.take_overdue().size(), 1U);
  EXPECT_EQ(queue_.take().size(), 1U);
}

TEST_F(UpdateQueueTest, ARequestThatWouldWaitBeyondItsDeadlineIsRefusedAtOnce) {
  auto hurried = request_of(10);
  hurried.caller_deadline = Deadline::after(std::chrono::nanoseconds(0));
  ASSERT_TRUE(queue_.submit(std::move(hurried))) << "no update waits before it";
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the oldest has waited for so long
  hurried = request_of(10);
  hurried.caller_deadline = Deadline::after(std::chrono::nanoseconds(0));
  const auto refused = queue_.submit(std::move(hurried));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kResourceExhausted);
  auto patient = request_of(10);
  patient.caller_deadline = Deadline::after(std::chrono::hours(1));
  EXPECT_TRUE(queue_.submit(std::move(patient)));
  EXPECT_TRUE(queue_.submit(request_of(10))) << "without a deadline";
  EXPECT_EQ(queue_.size(), 3U);
}

TEST_F(UpdateQueueTest, WhatComesDuringADrainIsDrainedNext) {
  ASSERT_TRUE(queue_.submit(request_of(1)));
  EXPECT_EQ(n_drains(), 1);
  (void)queue_.take();
  ASSERT_TRUE(queue_.submit(request_of(1)));
  EXPECT_EQ(n_drains(), 1);
  queue_.drained();
  EXPECT_EQ(n_drains(), 2);
}

TEST_F(UpdateQueueTest, PutOffDrainsWaitForWake) {
  ASSERT_TRUE(queue_.submit(request_of(1)));
  EXPECT_EQ(n_drains(), 1);
  queue_.put_off();
  EXPECT_EQ(n_drains(), 1);
  queue_.wake();
  queue_.wake();
  EXPECT_EQ(n_drains(), 2);
}

TEST_F(UpdateQueueTest, AFullQueueRefuses) {
  ASSERT_TRUE(queue_.submit(request_of(kMaxBytes))) << "one request of any size fits";
  const auto refused = queue_.submit(request_of(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kResourceExhausted);
  (void)queue_.take();
  EXPECT_TRUE(queue_.submit(request_of(1)));
}

TEST_F(UpdateQueueTest, AClosedQueueRefusesButKeepsWhatWaits) {
  ASSERT_TRUE(queue_.submit(request_of(1)));
  queue_.close();
  const auto refused = queue_.submit(request_of(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  EXPECT_EQ(queue_.take().size(), 1U);
}

TEST_F(UpdateQueueTest, GroupsAreBounded) {
  UpdateQueue queue(lane_, drain_, std::uint64_t{1} << 40);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(queue.submit(request_of(9U << 20)));
  EXPECT_EQ(queue.take().size(), 2U);
  EXPECT_EQ(queue.take().size(), 2U);
  EXPECT_EQ(queue.take().size(), 1U);
  EXPECT_EQ(n_drains(), 1);
}

}  // namespace
}  // namespace quiver::engine::testing

#include "base/threads/lane.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace quiver {
namespace {

TEST(SerialLane, KeepsTheOrder) {
  Executor executor(4, "test");
  SerialLane lane(executor, Priority::kHigh);
  std::vector<int> order;  // no lock: the lane serialises
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(lane.post([&, i] { order.push_back(i); }));
  lane.drain();
  ASSERT_EQ(order.size(), 5000U);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(lane.size(), 0U);
}

TEST(SerialLane, NeverRunsTwoAtOnce) {
  Executor executor(4, "test");
  SerialLane first(executor, Priority::kHigh);
  SerialLane second(executor, Priority::kLow);
  std::atomic<int> n_inside = 0;
  std::atomic<bool> overlapped = false;
  int n_first = 0;
  int n_second = 0;
  std::vector<std::thread> posters;
  for (int p = 0; p < 3; ++p) {
    posters.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        first.post([&] {
          if (++n_inside != 1) overlapped = true;
          ++n_first;
          --n_inside;
        });
        second.post([&] { ++n_second; });
      }
    });
  }
  for (auto& poster : posters) poster.join();
  first.drain();
  second.drain();
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(n_first, 3000);
  EXPECT_EQ(n_second, 3000);
}

TEST(SerialLane, TasksPostAndThrow) {
  Executor executor(1, "test");
  SerialLane lane(executor, Priority::kLow);
  int n_run = 0;
  testing::internal::CaptureStderr();
  lane.post([&] {
    lane.post([&] { ++n_run; });
    throw std::runtime_error("broken");
  });
  lane.drain();
  EXPECT_EQ(n_run, 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("broken"), std::string::npos);
}

TEST(SerialLane, RefusesAfterStop) {
  Executor executor(1, "test");
  SerialLane lane(executor, Priority::kHigh);
  bool ran = false;
  lane.post([&] { ran = true; });
  executor.stop();
  EXPECT_TRUE(ran);
  EXPECT_FALSE(lane.post([] { FAIL(); }));
  lane.drain();
}

}  // namespace
}  // namespace quiver

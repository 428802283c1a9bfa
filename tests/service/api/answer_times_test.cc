#include "service/api/answer_times.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/clock.h"

namespace quiver::service {
namespace {

TEST(AnswerTimes, AreSummedUp) {
  Counter counter;
  AnswerTimes times(counter);
  EXPECT_EQ(times.summary().n, 0U);
  EXPECT_EQ(times.summary().min_us, 0);
  const auto before = unix_time_ms();
  for (const double seconds : {0.002, 0.001, 0.006}) times.add(seconds);
  const auto summary = times.summary();
  EXPECT_EQ(summary.n, 3U);
  EXPECT_EQ(counter.value(), 3U);
  EXPECT_NEAR(summary.total_us, 9000, 1e-6);
  EXPECT_NEAR(summary.min_us, 1000, 1e-6);
  EXPECT_NEAR(summary.max_us, 6000, 1e-6);
  EXPECT_GE(summary.last_at_ms, before);
}

TEST(AnswerTimes, AnyThreadsMayAdd) {
  Counter counter;
  AnswerTimes times(counter);
  constexpr int kThreads = 4;
  constexpr int kEach = 1000;
  std::vector<std::thread> threads;
  for (int t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&times, t] {
      for (int i = 0; i < kEach; ++i) times.add(t * 1e-6);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(times.summary().n, std::uint64_t{kThreads} * kEach);
  EXPECT_NEAR(times.summary().total_us, kEach * (1 + 2 + 3 + 4), 1e-3);
  EXPECT_NEAR(times.summary().min_us, 1, 1e-9);
  EXPECT_NEAR(times.summary().max_us, kThreads, 1e-9);
}

}  // namespace
}  // namespace quiver::service

#include "base/threads/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "tests/patience.h"

namespace quiver {
namespace {

TEST(Executor, RunsEverythingBeforeItStops) {
  std::atomic<int> n_run = 0;
  {
    Executor executor(3, "test");
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(executor.post(i % 2 != 0 ? Priority::kHigh : Priority::kLow, [&] { ++n_run; }));
    }
  }
  EXPECT_EQ(n_run, 1000);
}

TEST(Executor, RunsWhatTasksPostWhileStopping) {
  std::atomic<int> n_run = 0;
  Executor executor(2, "test");
  std::function<void(int)> chain = [&](int left) {
    ++n_run;
    if (left > 0) {
      EXPECT_TRUE(executor.post(Priority::kLow, [&, left] { chain(left - 1); }));
    }
  };
  executor.post(Priority::kLow, [&] { chain(100); });
  executor.stop();
  EXPECT_EQ(n_run, 101);
  EXPECT_FALSE(executor.post(Priority::kHigh, [&] { ++n_run; }));
  EXPECT_EQ(n_run, 101);
}

TEST(Executor, TakesMoveOnlyTasks) {
  Executor executor(1, "test");
  auto value = std::make_unique<int>(5);
  std::promise<int> seen;
  executor.post(Priority::kHigh, [v = std::move(value), &seen] { seen.set_value(*v); });
  EXPECT_EQ(seen.get_future().get(), 5);
}

TEST(Executor, HighTasksRunWhileLowOnesBlock) {
  Executor executor(2, "test");
  std::promise<void> release;
  auto released = release.get_future().share();
  for (int i = 0; i < 8; ++i) executor.post(Priority::kLow, [released] { released.wait(); });
  std::promise<void> ran;
  executor.post(Priority::kHigh, [&] { ran.set_value(); });
  EXPECT_EQ(ran.get_future().wait_for(patience(std::chrono::seconds(30))),
            std::future_status::ready);
  EXPECT_GE(executor.n_queued(Priority::kLow), 7U);
  release.set_value();
}

TEST(Executor, LowTasksRunOnASingleThread) {
  Executor executor(1, "test");
  std::promise<void> ran;
  executor.post(Priority::kLow, [&] { ran.set_value(); });
  ran.get_future().wait();
}

TEST(Executor, SurvivesThrowingTasks) {
  Executor executor(1, "test");
  testing::internal::CaptureStderr();
  executor.post(Priority::kHigh, [] { throw std::runtime_error("broken"); });
  executor.post(Priority::kHigh, [] { throw 1; });
  std::promise<void> ran;
  executor.post(Priority::kHigh, [&] { ran.set_value(); });
  ran.get_future().wait();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("broken"), std::string::npos);
}

TEST(ParallelFor, CallsEveryNumberOnce) {
  Executor executor(3, "test");
  for (const std::size_t n : {0U, 1U, 2U, 3U, 1000U}) {
    std::vector<std::atomic<int>> n_calls(n);
    executor.parallel_for(n, [&](std::size_t i) { ++n_calls[i]; });
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(n_calls[i], 1) << i << " of " << n;
  }
}

TEST(ParallelFor, FinishesWhenAllThreadsAreBusyAndAfterStop) {
  Executor executor(2, "test");
  std::promise<void> release;
  auto released = release.get_future().share();
  for (int i = 0; i < 4; ++i) executor.post(Priority::kHigh, [released] { released.wait(); });
  std::atomic<int> sum = 0;
  executor.parallel_for(10, [&](std::size_t i) { sum += static_cast<int>(i); });
  EXPECT_EQ(sum, 45);
  release.set_value();
  executor.stop();
  executor.parallel_for(10, [&](std::size_t i) { sum += static_cast<int>(i); });
  EXPECT_EQ(sum, 90);
}

TEST(ParallelFor, NestsInTasksWithoutDeadlock) {
  std::atomic<int> n_calls = 0;
  {
    Executor executor(2, "test");
    for (int t = 0; t < 50; ++t) {
      const auto priority = t % 2 != 0 ? Priority::kHigh : Priority::kLow;
      executor.post(priority, [&, priority] {
        executor.parallel_for(
            8, [&](std::size_t) { executor.parallel_for(4, [&](std::size_t) { ++n_calls; }); },
            priority);
      });
    }
  }
  EXPECT_EQ(n_calls, 50 * 8 * 4);
}

TEST(ParallelFor, RethrowsInTheCallerAfterAllCalls) {
  Executor executor(2, "test");
  std::atomic<int> n_calls = 0;
  EXPECT_THROW(executor.parallel_for(100,
                                     [&](std::size_t i) {
                                       ++n_calls;
                                       if (i == 3) throw std::bad_alloc();
                                     }),
               std::bad_alloc);
  EXPECT_EQ(n_calls, 100);
}

TEST(ParallelFor, ManyCallersShareTheThreads) {
  Executor executor(2, "test");
  std::vector<std::thread> callers;
  std::atomic<long> total = 0;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::vector<long> parts(16);
        executor.parallel_for(parts.size(), [&](std::size_t i) { parts[i] = long(i); });
        total += std::accumulate(parts.begin(), parts.end(), 0L);
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total, 4L * 200 * 120);
}

}  // namespace
}  // namespace quiver

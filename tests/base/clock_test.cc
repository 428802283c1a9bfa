#include "base/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace quiver {
namespace {

TEST(Clock, StopwatchMeasuresFromItsConstruction) {
  const Stopwatch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const double first = watch.seconds();
  EXPECT_GE(first, 0.002);
  EXPECT_GE(watch.seconds(), first);
}

TEST(Clock, UnixTimeIsInMilliseconds) {
  const std::int64_t start_of_2024 = 1'704'067'200'000;
  EXPECT_GT(unix_time_ms(), start_of_2024);
  EXPECT_LT(unix_time_ms(), 100 * start_of_2024);
}

}  // namespace
}  // namespace quiver

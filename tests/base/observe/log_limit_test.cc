#include "base/observe/log_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace quiver {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(LogLimit, PassesTheFirstOfEach) {
  LogLimit limit{hours(1)};
  EXPECT_EQ(limit.pass("accept"), 0U);
  EXPECT_FALSE(limit.pass("accept"));
  EXPECT_EQ(limit.pass("seal"), 0U);
  EXPECT_FALSE(limit.pass("accept"));
  EXPECT_FALSE(limit.pass("seal"));
}

TEST(LogLimit, TellsHowManyWereLeftOut) {
  LogLimit limit{milliseconds(20)};
  EXPECT_EQ(limit.pass("accept"), 0U);
  std::uint64_t n_refused = 0;
  const auto end = std::chrono::steady_clock::now() + milliseconds(20);
  do {
    if (limit.pass("accept")) break;
    ++n_refused;
  } while (std::chrono::steady_clock::now() < end);
  std::this_thread::sleep_for(milliseconds(21));
  const auto n_left_out = limit.pass("accept");
  ASSERT_TRUE(n_left_out);
  EXPECT_LE(*n_left_out, n_refused);
  std::this_thread::sleep_for(milliseconds(21));
  EXPECT_EQ(limit.pass("accept"), 0U) << "they are told once";
}

TEST(LogLimit, TakesMoreThingsThanItRemembers) {
  LogLimit limit{hours(1)};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limit.pass(std::to_string(i)), 0U);
  EXPECT_FALSE(limit.pass("99")) << "the latest are remembered";
}

TEST(LogLimit, WritesLines) {
  LogLimit limit{hours(1)};
  testing::internal::CaptureStderr();
  limit.log(LogLevel::kWarning, "accept", "cannot accept: no handles");
  limit.log(LogLevel::kWarning, "accept", "cannot accept: no handles");
  limit.log(LogLevel::kWarning, "seal", "cannot seal");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_EQ(left_out_text(0), "");
  EXPECT_EQ(left_out_text(3), " (3 more like it were left out)");
}

}  // namespace
}  // namespace quiver

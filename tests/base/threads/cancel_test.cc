#include "base/threads/cancel.h"

#include <gtest/gtest.h>

#include <thread>

namespace quiver {
namespace {

using namespace std::chrono_literals;

TEST(Deadline, NoneNeverPasses) {
  EXPECT_TRUE(Deadline::none().is_none());
  EXPECT_FALSE(Deadline::none().has_passed());
  EXPECT_FALSE(Deadline::none().remaining());
  EXPECT_TRUE(Deadline::after(std::chrono::nanoseconds::max()).is_none());
}

TEST(Deadline, PassesInTime) {
  EXPECT_TRUE(Deadline::after(0ns).has_passed());
  EXPECT_TRUE(Deadline::after(-1s).has_passed());
  EXPECT_EQ(*Deadline::after(-1s).remaining(), 0ns);
  const auto later = Deadline::after(1h);
  EXPECT_FALSE(later.has_passed());
  EXPECT_GT(*later.remaining(), 59min);
}

TEST(Cancel, RunsUntilItIsCancelled) {
  Cancel cancel;
  EXPECT_FALSE(cancel.poll());
  EXPECT_TRUE(cancel.check());
  std::thread([&] { cancel.cancel(); }).join();
  EXPECT_TRUE(cancel.poll());
  EXPECT_EQ(cancel.check().error().code(), Code::kCancelled);
}

TEST(Cancel, ExpiresAndKeepsTheFirstReason) {
  const Cancel cancel(Deadline::after(0ns));
  EXPECT_EQ(cancel.check().error().code(), Code::kDeadlineExceeded);
  cancel.cancel();
  EXPECT_EQ(cancel.check().error().code(), Code::kDeadlineExceeded);

  const Cancel other(Deadline::after(0ns));
  other.cancel();
  EXPECT_EQ(other.check().error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver

#include "base/threads/pacer.h"

#include <gtest/gtest.h>

namespace quiver {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Clocks that move only as told.
class PacerTest : public ::testing::Test {
 protected:
  /// A step of 0.1 ms on a core of its own, in which the others use `others`.
  nanoseconds step(nanoseconds others) {
    times_.clock += 100us;
    times_.own += 100us;
    times_.process += 100us + others;
    return pacer_.end_step(times_);
  }

  Pacer::Times times_{5s, 3s, 4s};
  Pacer pacer_{times_};
};

TEST_F(PacerTest, RestsAsLongAsItWorksWhileOthersWork) {
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(step(30us), 100us);
}

TEST_F(PacerTest, OnlyCpuTimeOfTheStepCounts) {
  times_.clock += 50ms;  // waits for the disk
  EXPECT_EQ(step(30ms), 100us);
}

TEST_F(PacerTest, DoesNotRestOnceTheOthersAreIdle) {
  int n_rests = 0;
  for (int i = 0; i < 1000; ++i) {
    if (step(0us) > 0us) ++n_rests;
  }
  EXPECT_GT(n_rests, 0) << "nothing is known at first";
  EXPECT_LT(n_rests, 201) << "20 ms are looked at";
}

TEST_F(PacerTest, RestsAgainWhenOthersBegin) {
  for (int i = 0; i < 1000; ++i) (void)step(0us);
  EXPECT_EQ(step(0us), 0us);
  for (int i = 0; i < 400; ++i) (void)step(10us);
  EXPECT_EQ(step(10us), 100us);
}

TEST_F(PacerTest, AnIdleServersOwnWorkIsNotSeen) {
  for (int i = 0; i < 1000; ++i) (void)step(500ns);
  EXPECT_EQ(step(500ns), 0us);
}

TEST(Pacer, RealClocksOfThisThread) {
  Pacer pacer;
  for (int i = 0; i < 10; ++i) pacer.rest();  // returns
}

}  // namespace
}  // namespace quiver

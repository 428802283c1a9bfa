#include "storage/rows/gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace quiver::storage {
namespace {

using std::chrono::milliseconds;

TEST(Gate, ReservationGivesUpWhileSomeoneIsInside) {
  Gate gate;
  ASSERT_TRUE(gate.enter());
  EXPECT_FALSE(gate.reserve(milliseconds(5)));
  EXPECT_TRUE(gate.enter());
  gate.leave();
  gate.leave();
  EXPECT_TRUE(gate.reserve(milliseconds(5)));
  gate.release();
}

TEST(Gate, OthersWaitForTheEndOfAReservation) {
  Gate gate;
  ASSERT_TRUE(gate.reserve(milliseconds(5)));
  std::atomic<bool> released{false};
  std::thread other([&] {
    ASSERT_TRUE(gate.enter());
    EXPECT_TRUE(released);
    gate.leave();
  });
  std::this_thread::sleep_for(milliseconds(20));
  released = true;
  gate.release();
  other.join();
}

TEST(Gate, CloseWaitsForThoseInsideAndRefusesTheRest) {
  Gate gate;
  ASSERT_TRUE(gate.enter());
  std::atomic<bool> left{false};
  std::thread inside([&] {
    std::this_thread::sleep_for(milliseconds(20));
    left = true;
    gate.leave();
  });
  EXPECT_TRUE(gate.close());
  EXPECT_TRUE(left);
  EXPECT_FALSE(gate.enter());
  EXPECT_FALSE(gate.reserve(milliseconds(5)));
  EXPECT_FALSE(gate.close());
  inside.join();
}

}  // namespace
}  // namespace quiver::storage

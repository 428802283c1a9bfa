#include "base/observe/held_memory.h"

#include <gtest/gtest.h>

#include "base/observe/memory_budget.h"

namespace quiver {
namespace {

constexpr std::uint64_t kHeldMiB = 1 << 20;

TEST(HeldMemory, GivesUpToItsLimit) {
  HeldMemory memory;
  memory.set_limit(10);
  EXPECT_TRUE(memory.take(6));
  EXPECT_FALSE(memory.take(5));
  EXPECT_TRUE(memory.take(4));
  EXPECT_EQ(memory.n_bytes(), 10U);
  EXPECT_FALSE(memory.take(1));
  memory.give_back(6);
  EXPECT_TRUE(memory.take(5));
  EXPECT_EQ(memory.n_bytes(), 9U);
}

TEST(HeldMemory, ALowerLimitTakesNothingBack) {
  HeldMemory memory;
  memory.set_limit(10);
  EXPECT_TRUE(memory.take(8));
  memory.set_limit(0);
  EXPECT_EQ(memory.n_bytes(), 8U);
  EXPECT_FALSE(memory.take(1));
  memory.give_back(8);
  EXPECT_FALSE(memory.take(1));
}

TEST(HeldMemory, WithoutALimitItIsAShareOfTheMachines) {
  HeldMemory memory;
  EXPECT_FALSE(memory.take(usual_memory_limit()));
  EXPECT_TRUE(memory.take(1));
  EXPECT_EQ(usual_held_memory_limit(8000), 2000U);
}

TEST(HeldMemory, LeavesHalfOfTheMemoryLimit) {
  HeldMemory memory;
  memory.set_limit(std::uint64_t{1} << 40);
  const std::uint64_t now = process_memory().state().private_bytes;
  process_memory().set_limit((now + 64 * kHeldMiB) * 2);
  EXPECT_FALSE(memory.take(80 * kHeldMiB));
  EXPECT_TRUE(memory.take(16 * kHeldMiB));
  EXPECT_FALSE(memory.is_short());
  process_memory().set_limit(now);
  EXPECT_TRUE(memory.is_short());
  memory.give_back(16 * kHeldMiB);
  EXPECT_FALSE(memory.is_short());
  process_memory().set_limit(0);
}

}  // namespace
}  // namespace quiver

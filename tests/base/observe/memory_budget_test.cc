#include "base/observe/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace quiver {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;

class MemoryBudgetTest : public testing::Test {
 protected:
  /// Lets the last reading become too old.
  static void wait_for_reading() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

  std::uint64_t held_ = 10 * kMiB;  ///< private memory, as the budget reads it
  std::uint64_t free_ = 0;          ///< of it, what can be given back
  int n_given_back_ = 0;
  MemoryBudget budget_{[this] { return held_; },
                       [this] {
                         ++n_given_back_;
                         held_ -= std::exchange(free_, 0);
                       }};
};

TEST_F(MemoryBudgetTest, WithoutALimitThereIsRoomForEverything) {
  EXPECT_TRUE(budget_.check(1000 * kMiB, "a body"));
  EXPECT_TRUE(budget_.promise(1000 * kMiB, "a build"));
  EXPECT_EQ(budget_.state().n_refused, 0U);
}

TEST_F(MemoryBudgetTest, ARefusalNamesWhatWasFoundAndWanted) {
  budget_.set_limit(100 * kMiB);
  EXPECT_TRUE(budget_.check(65 * kMiB, "a body"));
  wait_for_reading();
  const auto refused = budget_.check(91 * kMiB, "a body");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.error().subject(), Subject::kMemory);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("no memory for a body: 91.0 MiB are wanted, 10.0 MiB are in use, and "
                        "`memory.limit_mb` is 100.0 MiB, 25.0 MiB of which are kept free"));
  EXPECT_EQ(budget_.state().n_refused, 1U);
}

TEST_F(MemoryBudgetTest, WhatWasGrantedCountsUntilItIsRead) {
  budget_.set_limit(100 * kMiB);
  bool was_quick = false;
  for (int times = 0; times < 1000 && !was_quick; ++times) {
    wait_for_reading();
    const auto begin = MemoryBudget::Clock::now();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(budget_.check(20 * kMiB, "a body"));
    const auto fourth = budget_.check(20 * kMiB, "a body");
    was_quick = MemoryBudget::Clock::now() - begin < std::chrono::milliseconds(4);
    EXPECT_TRUE(!fourth || !was_quick) << "the memory was not read in between";
  }
  EXPECT_TRUE(was_quick);
  wait_for_reading();
  EXPECT_TRUE(budget_.check(20 * kMiB, "a body")) << "the others took nothing, or gave it back";
}

TEST_F(MemoryBudgetTest, PromisesCountUntilTheyEnd) {
  budget_.set_limit(100 * kMiB);
  auto promise = budget_.promise(60 * kMiB, "a build");
  ASSERT_TRUE(promise);
  wait_for_reading();
  EXPECT_EQ(budget_.state().promised_bytes, 60 * kMiB);
  const auto refused = budget_.check(40 * kMiB, "a body");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnavailable) << "it helps to wait for the build";
  EXPECT_THAT(refused.error().message(), HasSubstr("60.0 MiB are promised to running jobs"));
  MemoryPromise moved = *std::move(promise);
  EXPECT_FALSE(budget_.check(40 * kMiB, "a body"));
  moved = MemoryPromise();
  EXPECT_EQ(budget_.state().promised_bytes, 0U);
  EXPECT_TRUE(budget_.check(40 * kMiB, "a body"));
}

TEST_F(MemoryBudgetTest, FreeMemoryIsGivenBackBeforeARefusal) {
  budget_.set_limit(100 * kMiB);
  held_ = 95 * kMiB;
  free_ = 50 * kMiB;
  EXPECT_TRUE(budget_.check(20 * kMiB, "a body"));
  EXPECT_EQ(n_given_back_, 1);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(budget_.check(90 * kMiB, "a body"));
  EXPECT_LE(n_given_back_, 2) << "it takes milliseconds";
}

TEST_F(MemoryBudgetTest, MoreThanTheLimitIsRefusedWithoutOverflow) {
  budget_.set_limit(100 * kMiB);
  EXPECT_FALSE(budget_.check(UINT64_MAX, "a body"));
  EXPECT_FALSE(budget_.promise(UINT64_MAX, "a build"));
}

TEST(PrivateMemory, GrowsWithTheHeapAndNotWithFiles) {
  const std::uint64_t before = private_memory_bytes();
  ASSERT_GT(before, 0U);
  std::vector<char> taken(64 * kMiB, 'x');
  const std::uint64_t after = private_memory_bytes();
  EXPECT_GT(after, before + 60 * kMiB);
  EXPECT_LT(after, before + 80 * kMiB);
  EXPECT_EQ(taken.back(), 'x');
}

}  // namespace
}  // namespace quiver

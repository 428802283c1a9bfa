#include "app/import/http/block_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "tests/app/import/support.h"

namespace quiver::app {
namespace {

TEST(BlockQueueTest, AnIdIsOnItsWayOnce) {
  constexpr unsigned kSeed = 20260403;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  BlockQueue queue(4, Ids::kMayRepeat);
  std::vector<std::atomic<int>> users(20);
  std::vector<std::atomic<std::uint64_t>> last_row(20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (auto block = queue.pop()) {
        for (const RowPoint& point : block->points) {
          EXPECT_EQ(users[point.id.low()]++, 0);
          EXPECT_LE(last_row[point.id.low()].exchange(point.row), point.row);
        }
        std::this_thread::yield();
        for (const RowPoint& point : block->points) --users[point.id.low()];
        queue.done(*std::move(block));
      }
    });
  }
  for (std::uint64_t row = 0; row < 3000; row += 2) {
    const std::uint64_t id = random() % 20;
    ASSERT_TRUE(queue.push(block_of(row, {id, (id + 1 + random() % 19) % 20})));
  }
  queue.finish();
  for (std::thread& thread : threads) thread.join();
}

TEST(BlockQueueTest, StopDropsWhatWaits) {
  BlockQueue queue(2, Ids::kDistinct);
  EXPECT_TRUE(queue.push(block_of(0, {1})));
  queue.stop();
  EXPECT_FALSE(queue.push(block_of(1, {2})));
  EXPECT_FALSE(queue.pop());
}

}  // namespace
}  // namespace quiver::app

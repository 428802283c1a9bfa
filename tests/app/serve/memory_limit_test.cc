#include "app/serve/memory_limit.h"

#include <gtest/gtest.h>

#include "base/observe/memory_budget.h"

namespace quiver::app {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class MemoryLimit : public testing::Test {
 protected:
  void TearDown() override { process_memory().set_limit(0); }
};

TEST_F(MemoryLimit, CachesTakeTheirShare) {
  EXPECT_EQ(within_share(256 * kMiB, 8192 * kMiB, 8), 256 * kMiB);
  EXPECT_EQ(within_share(256 * kMiB, 512 * kMiB, 8), 64 * kMiB);
  EXPECT_EQ(within_share(256 * kMiB, 2 * kMiB, 8), kMiB) << "RocksDB needs some";
}

TEST_F(MemoryLimit, ASmallLimitLowersThem) {
  Settings settings;
  settings.memory_limit_bytes = 400 * kMiB;
  set_memory_limit(settings);
  EXPECT_EQ(process_memory().state().limit_bytes, 400 * kMiB);
  EXPECT_EQ(settings.database.block_cache_bytes, 50 * kMiB);
  EXPECT_EQ(settings.database.write_buffer_bytes, 50 * kMiB);
  EXPECT_EQ(settings.database.max_queued_bytes, 50 * kMiB);
  EXPECT_EQ(settings.server.max_held_body_bytes, 100 * kMiB);
}

TEST_F(MemoryLimit, WithoutOneAShareOfTheMachineCounts) {
  Settings settings;
  set_memory_limit(settings);
  EXPECT_EQ(process_memory().state().limit_bytes, usual_memory_limit());
  EXPECT_GT(usual_memory_limit(), 64 * kMiB);
}

}  // namespace
}  // namespace quiver::app

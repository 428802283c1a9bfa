#include "base/observe/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace quiver {
namespace {

TEST(Memory, CountsAllocatedBytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers replace the allocator";
#endif
  const auto before = read_memory();
  EXPECT_GT(before.resident_bytes, 0U);
  constexpr std::size_t kBytes = 32 << 20;
  const std::vector<char> block(kBytes, 1);
  const auto now = read_memory();
  EXPECT_GE(now.allocated_bytes, before.allocated_bytes + block.size());
  EXPECT_GE(now.active_bytes, now.allocated_bytes);
}

TEST(Memory, ReturnsFreeMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers replace the allocator";
#endif
  // Small blocks come from the heap; one kept at its end stops free() from shrinking the heap.
  constexpr std::size_t kBlocks = 4096;
  constexpr std::size_t kBlockBytes = 16 << 10;
  std::vector<std::unique_ptr<char[]>> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(std::make_unique<char[]>(kBlockBytes));
    std::memset(blocks.back().get(), 1, kBlockBytes);
  }
  blocks.erase(blocks.begin(), blocks.end() - 1);
  const auto before = read_memory();
  return_free_memory();
  const auto after = read_memory();
  EXPECT_LT(after.resident_bytes + (kBlocks * kBlockBytes) / 2, before.resident_bytes);
}

}  // namespace
}  // namespace quiver

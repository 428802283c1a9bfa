#include "base/observe/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <memory>
#include <thread>
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

/// In a heap of its own, as threads have them: what is freed at its end.
std::uint64_t left_by_a_thread() {
  const auto before = read_memory().resident_bytes;
  std::promise<std::uint64_t> left;
  std::thread thread([&] {
    constexpr std::size_t kBlockBytes = 16 << 10;
    std::vector<std::unique_ptr<char[]>> blocks;
    for (std::size_t i = 0; i < 2048; ++i) {
      blocks.push_back(std::make_unique<char[]>(kBlockBytes));
      std::memset(blocks.back().get(), 1, kBlockBytes);
    }
    blocks.clear();
    return_free_memory();
    left.set_value(read_memory().resident_bytes);
  });
  const auto after = left.get_future().get();
  thread.join();
  return after > before ? after - before : 0;
}

TEST(Memory, EndsOfHeapsOfThreadsAreReturned) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers replace the allocator";
#endif
  constexpr std::size_t kLarge = 30 << 20;
  { const std::vector<char> block(kLarge, 1); }  // the allocator's limit grows with it
  limit_free_memory(1 << 20);
  EXPECT_LT(left_by_a_thread(), 8U << 20) << "of 32 MiB";
}

}  // namespace
}  // namespace quiver

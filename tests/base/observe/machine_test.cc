#include "base/observe/machine.h"

#include <gtest/gtest.h>

#include <vector>

namespace quiver {
namespace {

TEST(Machine, HasCoresAndMemory) {
  const auto facts = read_machine();
  EXPECT_GT(facts.n_cores, 0U);
  EXPECT_GT(facts.ram_bytes, std::uint64_t{64} << 20);
}

TEST(Memory, WhatIsAllocatedIsCounted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have an allocator of their own";
#endif
  const auto before = read_memory();
  EXPECT_GT(before.resident_bytes, 0U);
  constexpr std::size_t kBytes = 32 << 20;
  const std::vector<char> block(kBytes, 1);
  const auto now = read_memory();
  EXPECT_GE(now.allocated_bytes, before.allocated_bytes + block.size());
  EXPECT_GE(now.active_bytes, now.allocated_bytes);
}

}  // namespace
}  // namespace quiver

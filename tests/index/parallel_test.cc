#include "index/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include "base/threads/cancel.h"
#include "base/threads/executor.h"

namespace quiver::index {
namespace {

TEST(ForEach, CallsOncePerNumberWhateverTheThreads) {
  const Cancel cancel;
  Executor one(1, "test");
  Executor five(5, "test");
  for (Executor* executor : {static_cast<Executor*>(nullptr), &one, &five}) {
    for (const std::size_t n : {0U, 1U, 2U, 7U, 1000U}) {
      SCOPED_TRACE(std::to_string(n) + " calls");
      std::vector<std::atomic<int>> calls(n);
      for_each({executor, cancel, 0, nullptr}, n, [&](std::size_t i) { ++calls[i]; });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ForEach, KeepsTheOrderWithoutAnExecutor) {
  const Cancel cancel;
  std::vector<std::size_t> seen;
  for_each({nullptr, cancel, 0, nullptr}, 20, [&](std::size_t i) { seen.push_back(i); });
  std::vector<std::size_t> wanted(20);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(seen, wanted);
}

}  // namespace
}  // namespace quiver::index

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "index/parallel.h"

namespace quiver::index::testing {
namespace {

TEST(ForEach, CallsEachNumberOnceOnOneThreadOrSeveral) {
  const Cancel cancel;
  Executor threads(3, "test");
  for (Executor* executor : {static_cast<Executor*>(nullptr), &threads}) {
    for (const std::size_t n : {0, 1, 100}) {
      std::vector<std::atomic<int>> calls(n);
      for_each({executor, cancel, 0, nullptr}, n, [&](std::size_t i) { ++calls[i]; });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

}  // namespace
}  // namespace quiver::index::testing

#include <gtest/gtest.h>

#include <atomic>
#include <span>
#include <vector>

#include "base/threads/executor.h"
#include "index/lazy_rows.h"

namespace quiver::index::testing {
namespace {

/// Row i is allowed if i is a multiple of three.
void fill_thirds(std::uint32_t n_rows, std::uint32_t first, std::span<std::uint64_t> words) {
  for (std::uint32_t i = 0; i < words.size() * 64; ++i) {
    if ((first + i) % 3 == 0 && first + i < n_rows) words[i / 64] |= std::uint64_t{1} << (i % 64);
  }
}

TEST(LazyRows, FillsOnlyTheBlocksThatAreAskedFor) {
  std::vector<std::uint32_t> filled;
  const std::uint32_t n_rows = 3 * LazyRows::kBlockRows + 100;
  const LazyRows rows(n_rows, 7, [&](std::uint32_t first, std::span<std::uint64_t> words) {
    filled.push_back(first);
    fill_thirds(n_rows, first, words);
  });
  EXPECT_EQ(rows.estimate(), 7U);
  EXPECT_TRUE(filled.empty());
  rows.ensure(LazyRows::kBlockRows, LazyRows::kBlockRows + 1);
  rows.ensure(LazyRows::kBlockRows + 5, LazyRows::kBlockRows + 70);
  EXPECT_EQ(filled, std::vector<std::uint32_t>{LazyRows::kBlockRows});
  EXPECT_EQ(rows.words()[0], 0U);
  EXPECT_EQ(rows.count(), (n_rows + 2) / 3);
  EXPECT_EQ(filled.size(), 4U);
  rows.ensure(0, n_rows);
  EXPECT_EQ(filled.size(), 4U);
}

TEST(LazyRows, ThreadsFillABlockOnce) {
  const std::uint32_t n_rows = 20 * LazyRows::kBlockRows;
  std::atomic<int> n_filled = 0;
  const LazyRows rows(n_rows, n_rows, [&](std::uint32_t first, std::span<std::uint64_t> words) {
    ++n_filled;
    fill_thirds(n_rows, first, words);
  });
  Executor threads(4, "test");
  threads.parallel_for(200, [&](std::size_t i) {
    const auto row = static_cast<std::uint32_t>(i * 7919 % n_rows);
    rows.ensure(row, row + 1);
    EXPECT_EQ(rows.words()[row / 64] >> (row % 64) & 1, row % 3 == 0 ? 1U : 0U);
  });
  EXPECT_EQ(rows.count(), (n_rows + 2) / 3);
  EXPECT_EQ(n_filled, 20);
}

TEST(LazyRows, NoRows) {
  const LazyRows rows(0, 0, [](std::uint32_t, std::span<std::uint64_t>) { FAIL(); });
  EXPECT_EQ(rows.count(), 0U);
}

}  // namespace
}  // namespace quiver::index::testing

#include "index/lazy_rows.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace quiver::index {
namespace {

constexpr std::uint32_t kLazyBlock = LazyRows::kBlockRows;

/// Allows every third row, and counts how often each block is filled.
struct CountedRows {
  explicit CountedRows(std::uint32_t n_rows)
      : n_fills(n_rows / kLazyBlock + 1),
        rows(n_rows, n_rows / 3,
             [this, n_rows](std::uint32_t first, std::span<std::uint64_t> words) {
               EXPECT_EQ(first % kLazyBlock, 0U);
               ++n_fills[first / kLazyBlock];
               for (std::uint32_t row = first; row < first + words.size() * 64 && row < n_rows;
                    ++row) {
                 if (row % 3 == 0) words[(row - first) / 64] |= std::uint64_t{1} << (row % 64);
               }
             }) {}
  [[nodiscard]] bool is_set(std::uint32_t row) const {
    return (rows.words()[row / 64] >> (row % 64) & 1) != 0;
  }

  mutable std::vector<std::atomic<int>> n_fills;
  LazyRows rows;
};

TEST(LazyRows, FillOnlyTheBlocksThatAreAskedFor) {
  const CountedRows counted(3 * kLazyBlock + 10);
  EXPECT_FALSE(counted.is_set(0)) << "before it is asked for";
  counted.rows.ensure(kLazyBlock + 5, kLazyBlock + 6);
  counted.rows.ensure(kLazyBlock, 2 * kLazyBlock);
  EXPECT_EQ(counted.n_fills[0], 0);
  EXPECT_EQ(counted.n_fills[1], 1);
  EXPECT_EQ(counted.n_fills[2], 0);
  counted.rows.ensure(2 * kLazyBlock - 1, 2 * kLazyBlock + 1);  // across a border
  EXPECT_EQ(counted.n_fills[1], 1);
  EXPECT_EQ(counted.n_fills[2], 1);
  for (std::uint32_t row = kLazyBlock; row < 3 * kLazyBlock; ++row) {
    ASSERT_EQ(counted.is_set(row), row % 3 == 0) << "row " << row;
  }
  EXPECT_FALSE(counted.is_set(0));
}

TEST(LazyRows, EmptyRangesAndRowsBeyondTheEndAreNoWork) {
  const CountedRows counted(kLazyBlock);
  counted.rows.ensure(0, 0);
  counted.rows.ensure(7, 3);
  counted.rows.ensure(kLazyBlock, 5 * kLazyBlock);
  EXPECT_EQ(counted.n_fills[0], 0);
  counted.rows.ensure(kLazyBlock - 1, 9 * kLazyBlock);
  EXPECT_EQ(counted.n_fills[0], 1);
}

TEST(LazyRows, CountFillsAllBlocksOnce) {
  for (const std::uint32_t n :
       {0U, 1U, 64U, 65U, kLazyBlock - 1, kLazyBlock, kLazyBlock + 1, 3 * kLazyBlock}) {
    SCOPED_TRACE(std::to_string(n) + " rows");
    const CountedRows counted(n);
    EXPECT_EQ(counted.rows.n_rows(), n);
    EXPECT_EQ(counted.rows.estimate(), n / 3);
    EXPECT_EQ(counted.rows.count(), (n + 2) / 3);
    EXPECT_EQ(counted.rows.count(), (n + 2) / 3);
    for (std::uint32_t block = 0; block * kLazyBlock < n; ++block) {
      EXPECT_EQ(counted.n_fills[block], 1) << "block " << block;
    }
  }
}

TEST(LazyRows, ThreadsFillEachBlockOnceAndSeeIt) {
  constexpr std::uint32_t kRows = 20 * kLazyBlock;
  const CountedRows counted(kRows);
  std::atomic<int> n_wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 2000; ++i) {
        const std::uint32_t row = (i * 7919 + t * 12345) % kRows;
        counted.rows.ensure(row, row + 1);
        if (counted.is_set(row) != (row % 3 == 0)) ++n_wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(n_wrong, 0);
  for (const auto& n : counted.n_fills) EXPECT_LE(n, 1);
}

}  // namespace
}  // namespace quiver::index

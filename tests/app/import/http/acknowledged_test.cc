#include "app/import/http/acknowledged.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

namespace quiver::app {
namespace {

TEST(AcknowledgedTest, InAnyOrder) {
  constexpr unsigned kSeed = 20260402;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    std::uint64_t row = 100;
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t end = row + 1 + random() % 5;
      ranges.emplace_back(row, end);
      row = end;
    }
    std::vector<bool> is_done(row, false);
    std::fill(is_done.begin(), is_done.begin() + 100, true);
    std::shuffle(ranges.begin(), ranges.end(), random);
    Acknowledged acknowledged(100);
    for (const auto& [first, end] : ranges) {
      acknowledged.add(first, end, end - first, end - first);
      std::fill(is_done.begin() + static_cast<long>(first),
                is_done.begin() + static_cast<long>(end), true);
      const auto next = std::find(is_done.begin(), is_done.end(), false) - is_done.begin();
      EXPECT_EQ(acknowledged.progress().next_row, static_cast<std::uint64_t>(next));
      EXPECT_EQ(acknowledged.progress().n_points, static_cast<std::uint64_t>(next) - 100);
    }
    EXPECT_EQ(acknowledged.progress().n_points_sent, row - 100);
  }
}

TEST(AcknowledgedTest, WhatWasSentMayBeThere) {
  Acknowledged acknowledged(0);
  acknowledged.add(0, 5, 5, 5);
  acknowledged.add(10, 10, 0, 3);  // the connection broke
  EXPECT_EQ(acknowledged.progress().next_row, 5U);
  EXPECT_EQ(acknowledged.progress().n_points, 5U);
  EXPECT_EQ(acknowledged.progress().n_points_sent, 8U);
}

}  // namespace
}  // namespace quiver::app

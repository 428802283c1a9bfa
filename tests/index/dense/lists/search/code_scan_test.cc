#include <gtest/gtest.h>

#include <numeric>

#include "base/io/section_file.h"
#include "encoders/codes/rabitq.h"
#include "encoders/transforms/rotation.h"
#include "index/dense/lists/byte_rows.h"
#include "index/dense/lists/code_writers.h"
#include "index/dense/lists/search/code_scan.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/lists/coding_support.h"

namespace quiver::index::dense {
namespace {

using namespace quiver::index::testing;

TEST(IvfCoding, AScanKeepsTheBest) {
  Random random(kIvfSeed);
  const CodedRows coded(Similarity::kDot, 64, 1, 3000, random);
  for (int q = 0; q < 5; ++q) {
    const auto query = normal_vector(64, 1, random);
    const Tables tables(query);
    auto sorted = coded.estimates(query);
    const auto estimates = sorted;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (const std::size_t want : {1U, 10U, 100U, 1000U}) {
      ScanScratch scratch;
      CodeScan scan(want, scratch);
      CodeBlocks first = coded.blocks();  // in two calls, as two lists are
      first.n = 100;
      CodeBlocks rest = coded.blocks();
      rest.first += first.n * first.block_bytes();
      rest.n -= first.n;
      scan.scan(tables.tables, first, coded.base(query), nullptr, 0);
      scan.scan(tables.tables, rest, coded.base(query), nullptr, 100 * CodeBlocks::kRows);
      EXPECT_EQ(scan.kth(1), sorted[0]);
      EXPECT_EQ(scan.kth(want), sorted[want - 1]);
      const CodeHits& hits = scan.best();
      EXPECT_EQ(hits.n, want);
      std::vector<float> found(hits.scores, hits.scores + hits.n);
      for (std::size_t i = 0; i < hits.n; ++i) {
        EXPECT_EQ(estimates[hits.positions[i]], hits.scores[i]);
      }
      std::sort(found.begin(), found.end(), std::greater<>());
      for (std::size_t i = 0; i < want; ++i) EXPECT_EQ(found[i], sorted[i]);
    }
  }
}

/// `keep_near` ends with the rows near the k-th best: at least `want`, at most `most`. It tells if
/// there were more.
TEST(IvfCoding, AScanKeepsTheRowsNearTheKthBest) {
  constexpr std::size_t kRows = 6000;
  constexpr std::size_t kK = 10;
  constexpr std::size_t kWant = 25;
  constexpr std::size_t kMost = 400;
  Random random(kIvfSeed);
  const CodedRows coded(Similarity::kDot, 64, 1, kRows, random);
  for (int q = 0; q < 5; ++q) {
    const auto query = normal_vector(64, 1, random);
    const Tables tables(query);
    auto expected = coded.estimates(query);
    std::sort(expected.begin(), expected.end(), std::greater<>());
    for (const std::size_t n_near : {kK, kWant - 1, kWant, kWant + 30, kMost, kMost + 100}) {
      SCOPED_TRACE("near: " + std::to_string(n_near));
      const float range = expected[kK - 1] - expected[n_near - 1];
      ScanScratch scratch;
      CodeScan scan(kWant, scratch);
      scan.keep_near({kK, range, range, kMost});
      CodeBlocks part = coded.blocks();
      const std::size_t n_blocks = part.n;
      for (std::size_t first = 0; first < n_blocks; first += part.n) {
        part.n = std::min<std::size_t>(1 + random() % 40, n_blocks - first);
        part.first = coded.blocks().first + first * part.block_bytes();
        scan.scan(tables.tables, part, coded.base(query), nullptr,
                  static_cast<std::uint32_t>(first * CodeBlocks::kRows));
        if (random() % 3 != 0) continue;
        const float nth = scan.narrow();
        if (scan.n_kept() > kWant) {
          EXPECT_LE(nth, scan.kth(kWant));
        }
        if (scan.n_kept() > kWant + 1) {
          EXPECT_GT(nth, scan.kth(kWant + 2));
        }
      }
      const CodeHits& hits = scan.best();
      std::vector<float> found(hits.scores, hits.scores + hits.n);
      std::sort(found.begin(), found.end(), std::greater<>());
      const auto n_kept = static_cast<std::ptrdiff_t>(std::clamp(n_near, kWant, kMost));
      EXPECT_EQ(found, std::vector<float>(expected.begin(), expected.begin() + n_kept));
      EXPECT_EQ(scan.has_all_near(), n_near <= kMost);
    }
  }
}

/// Rows of few different estimates, in blocks of several lists: those whose places come first, in
/// whatever order lists are scanned.
TEST(IvfCoding, WhatIsKeptDoesNotDependOnTheOrderOfLists) {
  Random random(kIvfSeed);
  constexpr std::size_t kLists = 30;
  constexpr std::size_t kBlocks = 12;
  const auto centre = normal_vector(64, 1, random);
  std::vector<std::vector<float>> kinds;
  for (int i = 0; i < 40; ++i) kinds.push_back(normal_vector(64, 1, random));
  BlockWriter writer(Similarity::kDot, 64, 1, kLists * kBlocks * CodeBlocks::kRows);
  for (std::size_t i = 0; i < kLists * kBlocks * CodeBlocks::kRows; ++i) {
    writer.write(i, kinds[random() % kinds.size()], centre);
  }
  const Tables tables(normal_vector(64, 1, random));
  const CodeBlocks all{writer.bytes().data(), 2, 1, kLists * kBlocks};
  std::vector<std::size_t> order(kLists);
  std::iota(order.begin(), order.end(), 0U);
  for (const std::size_t want : {1U, 9U, 200U, 1000U}) {
    std::vector<std::uint32_t> first;
    for (int round = 0; round < 5; ++round) {
      ScanScratch scratch;
      CodeScan scan(want, scratch);
      for (const std::size_t list : order) {
        CodeBlocks blocks = all;
        blocks.first += list * kBlocks * all.block_bytes();
        blocks.n = kBlocks;
        const std::size_t place = list * kBlocks * CodeBlocks::kRows;
        scan.scan(tables.tables, blocks, 0, nullptr, static_cast<std::uint32_t>(place));
      }
      const CodeHits& hits = scan.best();
      std::vector<std::uint32_t> found(hits.positions, hits.positions + hits.n);
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found.size(), want);
      if (round == 0) first = found;
      EXPECT_EQ(found, first);
      std::shuffle(order.begin(), order.end(), random);
    }
  }
}

TEST(IvfCoding, FewerThanWantedAreAllFound) {
  Random random(kIvfSeed);
  const CodedRows coded(Similarity::kDot, 64, 1, 10, random);
  const auto query = normal_vector(64, 1, random);
  const Tables tables(query);
  ScanScratch scratch;
  CodeScan scan(100, scratch);
  EXPECT_EQ(scan.kth(1), -std::numeric_limits<float>::infinity());
  scan.scan(tables.tables, coded.blocks(), coded.base(query), nullptr, 0);
  EXPECT_EQ(scan.kth(11), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(scan.best().n, 10U);
}

TEST(IvfCoding, ManyRowsOfOneEstimateDoNotFillTheRoomForGood) {
  Random random(kIvfSeed);
  const auto centre = normal_vector(64, 1, random);
  const auto row = normal_vector(64, 1, random);
  constexpr std::size_t kRows = 20'000;
  BlockWriter writer(Similarity::kDot, 64, 1, kRows);
  for (std::size_t i = 0; i < kRows; ++i) writer.write(i, row, centre);
  const Tables tables(normal_vector(64, 1, random));
  ScanScratch scratch;
  CodeScan scan(10, scratch);
  scan.scan(tables.tables, {writer.bytes().data(), 2, 1, kRows / 16}, 0, nullptr, 0);
  const CodeHits& hits = scan.best();
  ASSERT_EQ(hits.n, 10U);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(hits.positions[i], i);
}

/// Both ways of a filter: rows that are not allowed are not scored, or dropped afterwards.
TEST(IvfCoding, OnlyAllowedRowsAreFound) {
  Random random(kIvfSeed);
  const CodedRows coded(Similarity::kDot, 64, 1, 1600, random);
  std::vector<std::uint32_t> row_of(1600);  // positions and rows differ
  for (std::uint32_t i = 0; i < 1600; ++i) row_of[i] = (i * 7 + 3) % 1600;
  for (const double share : {0.0, 0.01, 0.5, 0.95, 1.0}) {
    const Bitset allowed = random_rows(1600, share, random);
    const auto query = normal_vector(64, 1, random);
    const Tables tables(query);
    const auto estimates = coded.estimates(query);
    std::vector<float> wanted;
    for (std::uint32_t i = 0; i < 1600; ++i) {
      if (allowed.test(row_of[i])) wanted.push_back(estimates[i]);
    }
    std::sort(wanted.begin(), wanted.end(), std::greater<>());
    wanted.resize(std::min<std::size_t>(wanted.size(), 40));
    std::vector<std::uint16_t> masks(100);
    kernels().codes.allowed(row_of.data(), 100, allowed.words().data(), 1599, masks.data());
    for (const bool drops : {false, true}) {
      ScanScratch scratch;
      CodeScan scan(40, scratch);
      if (drops) {
        scan.scan_and_drop(tables.tables, coded.blocks(), coded.base(query), RowFilter::of(allowed),
                           row_of, 0);
      } else {
        scan.scan(tables.tables, coded.blocks(), coded.base(query), masks.data(), 0);
      }
      const CodeHits& hits = scan.best();
      for (std::size_t i = 0; i < hits.n; ++i) EXPECT_TRUE(allowed.test(row_of[hits.positions[i]]));
      std::vector<float> found(hits.scores, hits.scores + hits.n);
      std::sort(found.begin(), found.end(), std::greater<>());
      ASSERT_GE(found.size(), wanted.size());
      found.resize(wanted.size());
      EXPECT_EQ(found, wanted) << share << (drops ? " dropped" : " not scored");
    }
  }
}

}  // namespace
}  // namespace quiver::index::dense

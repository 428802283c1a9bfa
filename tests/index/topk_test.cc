#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "index/topk.h"

namespace quiver::index {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<Hit> sorted(std::vector<Hit> hits, std::span<const PointId> ids, std::size_t k) {
  std::sort(hits.begin(), hits.end(), [&](const Hit& a, const Hit& b) {
    if (a.score != b.score) return a.score > b.score;
    return ids.empty() ? a.row < b.row : ids[a.row] < ids[b.row];
  });
  if (hits.size() > k) hits.resize(k);
  return hits;
}

void expect_equal(const std::vector<Hit>& got, const std::vector<Hit>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].score, wanted[i].score) << i;
    EXPECT_EQ(got[i].row, wanted[i].row) << i;
  }
}

/// Few different scores, so that ties abound.
std::vector<Hit> random_hits(std::size_t n, std::mt19937_64& random) {
  std::vector<Hit> hits;
  for (std::uint32_t row = 0; row < n; ++row) {
    hits.push_back({static_cast<float>(random() % 9) - 4, row});
  }
  std::shuffle(hits.begin(), hits.end(), random);
  return hits;
}

TEST(TopK, NothingOffered) {
  TopK top(3);
  EXPECT_EQ(top.threshold(), -kInfinity);
  EXPECT_TRUE(top.take_sorted().empty());
}

TEST(TopK, ZeroTakesNothing) {
  TopK top(0);
  top.offer(1, 1);
  top.offer(kInfinity, 2);
  EXPECT_EQ(top.size(), 0U);
  EXPECT_TRUE(top.take_sorted().empty());
}

TEST(TopK, SameHitsWhateverTheOrderOfOffering) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (const std::size_t n : {1, 2, 10, 200}) {
      for (const std::size_t k : {1, 2, 7, 199, 200, 201, 1000}) {
        auto hits = random_hits(n, random);
        const auto wanted = sorted(hits, {}, k);
        for (int order = 0; order < 3; ++order) {
          std::shuffle(hits.begin(), hits.end(), random);
          TopK top(k);
          for (const Hit& hit : hits) top.offer(hit.score, hit.row);
          expect_equal(top.take_sorted(), wanted);
          EXPECT_EQ(top.size(), 0U);
        }
      }
    }
  }
}

TEST(TopK, TiesGoToTheLowerId) {
  std::mt19937_64 random(6);
  std::vector<PointId> ids;
  for (std::uint64_t i = 0; i < 100; ++i) {
    ids.push_back(i % 2 == 0 ? PointId::number(1000 - i) : PointId::uuid(random(), i));
  }
  const auto hits = random_hits(ids.size(), random);
  TopK top(20, ids);
  for (const Hit& hit : hits) top.offer(hit.score, hit.row);
  expect_equal(top.take_sorted(), sorted(hits, ids, 20));
}

TEST(TopK, ThresholdLetsEqualScoresIn) {
  TopK top(2);
  top.offer(5, 10);
  EXPECT_EQ(top.threshold(), -kInfinity);
  top.offer(3, 11);
  EXPECT_EQ(top.threshold(), 3);
  top.offer(3, 9);  // same score, lower row
  top.offer(2, 1);
  const auto hits = top.take_sorted();
  ASSERT_EQ(hits.size(), 2U);
  EXPECT_EQ(hits[1].row, 9U);
}

TEST(TopK, NanNeverEnters) {
  TopK top(2);
  top.offer(std::numeric_limits<float>::quiet_NaN(), 0);
  top.offer(-kInfinity, 1);
  top.offer(kInfinity, 2);
  const auto hits = top.take_sorted();
  ASSERT_EQ(hits.size(), 2U);
  EXPECT_EQ(hits[0].row, 2U);
  EXPECT_EQ(hits[1].row, 1U);
}

TEST(TopK, SharedFloorDropsWhatIsStrictlyBelow) {
  std::atomic<float> floor = 4;
  TopK top(3, {}, &floor);
  EXPECT_EQ(top.threshold(), 4);
  top.offer(3.999F, 0);
  top.offer(4, 1);
  EXPECT_EQ(top.size(), 1U);
}

TEST(TopK, FullHeapRaisesTheSharedFloorAndNeverLowersIt) {
  std::atomic<float> floor = -kInfinity;
  TopK high(2, {}, &floor);
  high.offer(9, 0);
  EXPECT_EQ(floor, -kInfinity);
  high.offer(7, 1);
  EXPECT_EQ(floor, 7);
  TopK low(2, {}, &floor);
  low.offer(7, 2);
  low.offer(8, 3);
  EXPECT_EQ(floor, 7);
  high.offer(10, 4);
  EXPECT_EQ(floor, 9);
}

/// Threads that each take a part and share the floor find together what one finds alone.
TEST(TopK, PartsWithASharedFloorGiveTheSameHits) {
  for (const std::uint64_t seed : {7, 8, 9}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto hits = random_hits(20000, random);
    constexpr std::size_t kParts = 4;
    constexpr std::size_t kHits = 50;
    std::atomic<float> floor = -kInfinity;
    std::vector<std::vector<Hit>> found(kParts);
    std::vector<std::thread> threads;
    for (std::size_t part = 0; part < kParts; ++part) {
      threads.emplace_back([&, part] {
        TopK top(kHits, {}, &floor);
        for (std::size_t i = part; i < hits.size(); i += kParts) {
          top.offer(hits[i].score, hits[i].row);
        }
        found[part] = top.take_sorted();
      });
    }
    for (auto& thread : threads) thread.join();
    TopK all(kHits);
    for (const auto& part : found) {
      for (const Hit& hit : part) all.offer(hit.score, hit.row);
    }
    expect_equal(all.take_sorted(), sorted(hits, {}, kHits));
  }
}

}  // namespace
}  // namespace quiver::index

#include "index/dense/lists/kmeans/nearest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/cancel.h"
#include "tests/index/dense/lists/kmeans/kmeans_support.h"

namespace quiver::index::dense {
namespace {

using testing::clumped_codes;
using testing::nearest_squared_distance;
using testing::Random;
using testing::squared_distance;

constexpr std::uint64_t kNearestSeed = 102;

std::vector<float> random_means(std::size_t n, std::uint32_t dim, Random& random) {
  std::uniform_real_distribution<float> uniform(-120, 120);
  std::vector<float> means(n * dim);
  for (float& value : means) value = uniform(random);
  return means;
}

/// The centres as they are kept, in bytes, `[n, dim]` in units of codes.
std::vector<float> rounded_means(const Centres& centres) {
  const ByteMatrix rows = centres.as_rows();
  std::vector<float> means;
  for (std::size_t i = 0; i < rows.n() * rows.dim(); ++i) {
    const int code = rows.view().codes[i] - 128;
    means.push_back(centres.scale() * static_cast<float>(code));
  }
  return means;
}

/// Scores are whole numbers: what rounding of one makes of a squared distance.
double rounding_of(const Centres& centres) { return 2.01 * centres.scale() + 1e-3; }

TEST(Centres, AreKeptInBytesOfOneScale) {
  SCOPED_TRACE("seed " + std::to_string(kNearestSeed));
  Random random(kNearestSeed);
  for (const std::uint32_t dim : {1U, 33U}) {
    const auto means = random_means(5, dim, random);
    const Centres centres(means, dim);
    EXPECT_EQ(centres.n(), 5U);
    EXPECT_EQ(centres.dim(), dim);
    const auto rounded = rounded_means(centres);
    for (std::size_t i = 0; i < means.size(); ++i) {
      EXPECT_NEAR(rounded[i], means[i], centres.scale() * 0.501F);
    }
  }
  const std::vector<float> zeros(6, 0.0F);
  EXPECT_EQ(rounded_means(Centres(zeros, 3)), zeros);
}

TEST(Centres, NearOnesAreOrderedByDistanceItselfFirst) {
  Random random(kNearestSeed);
  auto means = random_means(40, 9, random);
  std::copy_n(means.begin(), 9, means.begin() + 9 * 17);  // 17 is the same as 0
  const Centres centres(means, 9);
  const auto rounded = rounded_means(centres);
  for (const std::uint32_t of : {0U, 17U, 39U}) {
    std::vector<std::pair<double, std::uint32_t>> order;
    for (std::uint32_t c = 0; c < 40; ++c) {
      double sum = c == of ? -1 : 0;
      for (std::size_t d = 0; d < 9; ++d) {
        sum += std::pow((rounded[c * 9 + d] - rounded[of * 9 + d]) / centres.scale(), 2);
      }
      order.emplace_back(std::round(sum), c);
    }
    std::sort(order.begin(), order.end());
    for (const std::size_t n : {1U, 5U, 40U, 99U}) {
      std::vector<std::uint32_t> wanted;
      for (std::size_t i = 0; i < std::min<std::size_t>(n, 40); ++i) {
        wanted.push_back(order[i].second);
      }
      EXPECT_EQ(centres.near(of, n), wanted) << "of " << of;
    }
  }
  const Cancel cancel;
  const CentreNeighbours neighbours(centres, 5, {nullptr, cancel, 0, nullptr});
  for (std::uint32_t c = 0; c < 40; ++c) {
    const auto of = neighbours.of(c);
    EXPECT_EQ(std::vector(of.begin(), of.end()), centres.near(c, 5));
  }
}

TEST(CentreSearch, FindsTheNearestOfAllAndOfSome) {
  Random random(kNearestSeed);
  for (const std::uint32_t dim : {1U, 16U, 33U}) {
    for (const std::size_t n_centres : {1U, 7U, 300U}) {
      const auto means = random_means(n_centres, dim, random);
      const Centres centres(means, dim);
      const auto rounded = rounded_means(centres);
      std::vector<std::uint32_t> candidates;
      for (std::uint32_t c = 0; c < n_centres; c += 3) candidates.push_back(c);
      std::vector<float> some;
      for (const std::uint32_t c : candidates) {
        some.insert(some.end(), rounded.begin() + c * dim, rounded.begin() + (c + 1) * dim);
      }
      for (const std::size_t n : {1U, 31U, 32U, 33U, 70U}) {
        SCOPED_TRACE(std::to_string(n) + " rows of " + std::to_string(dim) + ", " +
                     std::to_string(n_centres) + " centres");
        const ByteMatrix rows = clumped_codes(n, dim, 9, random);
        std::vector<std::uint32_t> members(n);
        std::iota(members.begin(), members.end(), 0);
        std::vector<std::uint32_t> of_all(n);
        std::vector<std::uint32_t> of_some(n);
        CentreSearch search(centres);
        search.nearest(rows.view(), members, {}, of_all.data());
        search.nearest(rows.view(), members, candidates, of_some.data());
        for (std::size_t i = 0; i < n; ++i) {
          const std::uint8_t* row = rows.view().at(i);
          const auto distance = [&](std::uint32_t c) {
            return squared_distance(row, rounded.data() + c * dim, dim);
          };
          EXPECT_LE(distance(of_all[i]),
                    nearest_squared_distance(row, rounded, dim) + rounding_of(centres));
          EXPECT_EQ(of_some[i] % 3, 0U);
          EXPECT_LE(distance(of_some[i]),
                    nearest_squared_distance(row, some, dim) + rounding_of(centres));
        }
      }
    }
  }
}

TEST(CentreSearch, TheFirstOfEqualCentresWins) {
  Random random(kNearestSeed);
  const auto one = random_means(1, 8, random);
  std::vector<float> means;
  for (int c = 0; c < 300; ++c) means.insert(means.end(), one.begin(), one.end());
  const Centres centres(means, 8);
  const ByteMatrix rows = clumped_codes(40, 8, 3, random);
  std::vector<std::uint32_t> members(40);
  std::iota(members.begin(), members.end(), 0);
  std::vector<std::uint32_t> found(40, 99);
  CentreSearch(centres).nearest(rows.view(), members, {}, found.data());
  EXPECT_EQ(found, std::vector<std::uint32_t>(40, 0));
  const std::vector<std::uint32_t> candidates = {290, 5, 7};
  CentreSearch(centres).nearest(rows.view(), members, candidates, found.data());
  EXPECT_EQ(found, std::vector<std::uint32_t>(40, 290));
}

TEST(CentreSearch, ImprovesInPartsToTheNearestOfAll) {
  Random random(kNearestSeed);
  const Centres centres(random_means(50, 12, random), 12);
  const ByteMatrix rows = clumped_codes(60, 12, 7, random);
  std::vector<std::uint32_t> members(60);
  std::iota(members.begin(), members.end(), 0);
  std::vector<std::uint32_t> whole(60);
  CentreSearch search(centres);
  search.nearest(rows.view(), members, {}, whole.data());
  std::vector<std::uint32_t> list_of(60, 0);
  std::vector<std::int32_t> score_of(60, CentreSearch::kNone);
  std::vector<std::uint32_t> all(50);
  std::iota(all.begin(), all.end(), 0);
  for (const std::size_t first : {0U, 20U, 40U}) {
    const auto part = std::span<const std::uint32_t>(all).subspan(first, first == 40 ? 10 : 20);
    search.improve(rows.view(), members, part, list_of.data(), score_of.data());
  }
  EXPECT_EQ(list_of, whole);
}

TEST(CentreSearch, DistancesAndTheNearestFewAreThoseOfDoubleArithmetic) {
  SCOPED_TRACE("seed " + std::to_string(kNearestSeed));
  Random random(kNearestSeed);
  for (const std::size_t n_centres : {3U, 280U}) {
    const Centres centres(random_means(n_centres, 20, random), 20);
    const auto rounded = rounded_means(centres);
    const ByteMatrix rows = clumped_codes(35, 20, 4, random);
    std::vector<std::uint32_t> members = {34, 0, 7};
    std::vector<std::uint32_t> all(n_centres);
    std::iota(all.begin(), all.end(), 0);
    std::vector<float> distances(members.size() * n_centres);
    CentreSearch search(centres);
    search.distances(rows.view(), members, all, distances.data());
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (std::size_t c = 0; c < n_centres; ++c) {
        const double wanted =
            squared_distance(rows.view().at(members[i]), rounded.data() + c * 20, 20);
        EXPECT_NEAR(distances[i * n_centres + c], wanted, rounding_of(centres) + 1e-5 * wanted);
      }
    }
    std::vector<std::uint32_t> few(35 * 3);
    search.nearest_few(rows.view(), 3, few.data());
    for (std::size_t i = 0; i < 35; ++i) {
      std::vector<double> sorted;
      for (std::size_t c = 0; c < n_centres; ++c) {
        sorted.push_back(squared_distance(rows.view().at(i), rounded.data() + c * 20, 20));
      }
      std::vector<std::uint32_t> three(few.begin() + static_cast<std::ptrdiff_t>(i * 3),
                                       few.begin() + static_cast<std::ptrdiff_t>(i * 3 + 3));
      std::sort(three.begin(), three.end());
      EXPECT_EQ(std::unique(three.begin(), three.end()), three.end()) << "distinct";
      const auto distance_of = [&](std::uint32_t c) { return sorted[c]; };
      double farthest = 0;
      for (const std::uint32_t c : three) farthest = std::max(farthest, distance_of(c));
      std::sort(sorted.begin(), sorted.end());
      EXPECT_LE(farthest, sorted[2] + rounding_of(centres));
    }
  }
}

}  // namespace
}  // namespace quiver::index::dense

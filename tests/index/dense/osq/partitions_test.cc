// Partitions of about equal size, and which of them and of their rows a search takes.
#include <gtest/gtest.h>

#include "index/dense/osq/balanced_partitions.h"
#include "index/dense/osq/partition_choice.h"
#include "index/dense/osq/row_choice.h"
#include "tests/index/dense/osq/osq_support.h"

namespace quiver::index::testing {
namespace {

using namespace dense::osq;

std::vector<std::uint32_t> sizes_in(const std::vector<std::uint32_t>& partition_of,
                                    std::uint32_t n) {
  std::vector<std::uint32_t> sizes(n, 0);
  for (const std::uint32_t p : partition_of) ++sizes[p];
  return sizes;
}

TEST(OsqPartitions, SizesAreWithinTheBoundsWhateverTheData) {
  Random random(kOsqSeed);
  for (const std::uint32_t n : {1U, 2U, 7U, 100U, 2000U}) {
    for (const std::uint32_t n_partitions : {1U, 3U, 10U}) {
      if (n_partitions > n) continue;
      for (const double balance : {0.01, 0.1, 0.5}) {
        for (const bool one_point : {false, true}) {
          std::vector<float> distances(std::size_t{n} * n_partitions, 1.0F);
          for (float& distance : distances) {
            if (!one_point) distance = static_cast<float>(random() % 1000);
          }
          // The first partition is the nearest of most rows.
          for (std::size_t row = 0; row < n; row += 2) distances[row * n_partitions] = 0;
          const auto bounds = SizeBounds::of(n, n_partitions, balance);
          const auto partition_of = assign_balanced(distances, n_partitions, bounds);
          ASSERT_EQ(partition_of.size(), n);
          for (const std::uint32_t size : sizes_in(partition_of, n_partitions)) {
            EXPECT_GE(size, bounds.min);
            EXPECT_LE(size, bounds.max);
          }
        }
      }
    }
  }
}

TEST(OsqPartitions, RowsStayWhereTheyBelongIfSizesAllowIt) {
  std::vector<float> distances;
  for (int row = 0; row < 90; ++row) {
    for (int p = 0; p < 3; ++p) distances.push_back(row % 3 == p ? 0.0F : 1.0F);
  }
  const auto partition_of = assign_balanced(distances, 3, SizeBounds::of(90, 3, 0.1));
  for (std::uint32_t row = 0; row < 90; ++row) EXPECT_EQ(partition_of[row], row % 3);
}

TEST(OsqPartitions, ClumpsOfUnequalSizeAreDivided) {
  Random random(kOsqSeed);
  std::vector<std::optional<PlainVector>> vectors;
  for (int row = 0; row < 1000; ++row) {
    PlainVector vector;
    vector.values = {row % 10 < 7 ? 10.0F : -10.0F, static_cast<float>(random() % 100) / 100, 0};
    vectors.emplace_back(vector);
  }
  const FieldColumn column = make_column(dense_schema(3, Metric::kEuclid), vectors);
  const Cancel cancel;
  const BuildContext context{nullptr, cancel, kOsqSeed, nullptr};
  const auto rows = ScaledRows::make(column, context).value();
  OsqBuildParams params;
  params.partitions = 2;
  const auto partition_of = make_partitions(rows, params, context).value();
  const auto sizes = sizes_in(partition_of, 2);
  EXPECT_GE(std::min(sizes[0], sizes[1]), 450U);
  for (int row = 7; row < 1000; row += 10) {
    EXPECT_EQ(partition_of[row], partition_of[7]) << "the small clump stays together";
  }
}

TEST(OsqPartitions, TheirNumberFitsTheRows) {
  EXPECT_EQ(n_partitions_for(0, 128, {}), 1U);
  EXPECT_EQ(n_partitions_for(1'000'000, 128, {}), 10U) << "the paper's number";
  EXPECT_EQ(n_partitions_for(100'000, 384, {}), 3U) << "80 rows a dimension";
  OsqBuildParams asked;
  asked.partitions = 20;
  EXPECT_EQ(n_partitions_for(1000, 384, asked), 20U);
  EXPECT_EQ(n_partitions_for(5, 384, asked), 5U);
}

TEST(OsqRowChoice, TheSmallestDistancesInOrder) {
  Random random(kOsqSeed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint32_t> distances(random() % 300);
    const auto most = static_cast<std::uint32_t>(random() % 20);
    for (auto& distance : distances) distance = static_cast<std::uint32_t>(random() % (most + 1));
    const std::size_t n = random() % 320;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted;
    for (std::uint32_t i = 0; i < distances.size(); ++i) wanted.emplace_back(distances[i], i);
    std::sort(wanted.begin(), wanted.end());
    if (wanted.size() > n) wanted.resize(n);
    std::vector<std::uint32_t> positions;
    for (const auto& [distance, position] : wanted) positions.push_back(position);
    std::vector<std::uint32_t> found;
    choose_smallest(distances, most, n, found);
    EXPECT_EQ(found, positions);
  }
}

TEST(OsqRowChoice, MoreRowsThanA16BitCountHolds) {
  const std::vector<std::uint32_t> distances(200'000, 3);
  std::vector<std::uint32_t> found;
  choose_smallest(distances, 5, 100'000, found);
  EXPECT_EQ(found.size(), 100'000U);
  EXPECT_EQ(found.back(), 99'999U);
}

TEST(OsqRowChoice, TheCheapestRows) {
  Random random(kOsqSeed);
  CheapestRows cheapest(5);
  std::vector<CostOfRow> all;
  for (std::uint32_t row = 0; row < 100; ++row) {
    all.push_back({static_cast<float>(random() % 30), row});
    cheapest.offer(all.back());
  }
  std::sort(all.begin(), all.end());
  std::vector<CostOfRow> kept(cheapest.rows().begin(), cheapest.rows().end());
  std::sort(kept.begin(), kept.end());
  ASSERT_EQ(kept.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(kept[i].row, all[i].row);
  EXPECT_EQ(cheapest.limit(), all[4].cost);
}

}  // namespace
}  // namespace quiver::index::testing

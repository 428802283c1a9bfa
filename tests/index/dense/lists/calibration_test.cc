#include "index/dense/lists/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/index/support.h"

namespace quiver::index::dense {
namespace {

using namespace quiver::index::testing;

constexpr std::uint64_t kCalibrationSeed = 96;

/// Rows in far clumps, row i in clump i % n_clumps, whose lists are the clumps.
struct ClumpLists {
  ClumpLists(Metric metric, std::uint32_t n_rows, std::uint32_t n_clumps)
      : column(column_of(metric, n_rows, n_clumps)),
        rotation(column.schema.dim, 3),
        source(column, rotation) {
    const std::uint32_t dim = source.dim();
    std::vector<float> row(dim);
    centroids.resize(std::size_t{n_clumps} * dim);
    for (std::uint32_t i = 0; i < n_rows; ++i) {
      list_of.push_back(i % n_clumps);
      source.read(i, row.data());
      for (std::uint32_t d = 0; d < dim; ++d) {
        centroids[i % n_clumps * dim + d] +=
            row[d] * static_cast<float>(n_clumps) / static_cast<float>(n_rows);
      }
    }
    double squares = 0;
    double lengths = 0;
    for (std::uint32_t i = 0; i < n_rows; ++i) {
      source.read(i, row.data());
      for (std::uint32_t d = 0; d < dim; ++d) {
        squares += std::pow(row[d] - centroids[i % n_clumps * dim + d], 2);
        lengths += std::pow(row[d], 2);
      }
    }
    facts.spread = static_cast<float>(std::sqrt(squares / n_rows));
    facts.length = static_cast<float>(std::sqrt(lengths / n_rows));
    reaches.assign(n_clumps, 0);
  }
  static FieldColumn column_of(Metric metric, std::uint32_t n_rows, std::uint32_t n_clumps) {
    Random random(kCalibrationSeed);
    std::normal_distribution<float> normal;
    const FieldSchema field{"", FieldKind::kDense, 24, DType::kF32, metric, {}};
    std::vector<std::vector<float>> centres(n_clumps, std::vector<float>(field.dim));
    for (auto& centre : centres) {
      for (float& value : centre) value = 10 * normal(random);
    }
    std::vector<std::optional<PlainVector>> rows;
    for (std::uint32_t i = 0; i < n_rows; ++i) {
      PlainVector row{centres[i % n_clumps], {}};
      for (float& value : row.values) value += normal(random);
      rows.emplace_back(std::move(row));
    }
    return make_column(field, rows);
  }
  [[nodiscard]] Result<UsualSearch> usual(std::span<const std::uint32_t> second = {},
                                          const Cancel& cancel = {}) const {
    return usual_search(source, {centroids, list_of, second, reaches, regions}, facts,
                        {nullptr, cancel, 0, nullptr});
  }

  FieldColumn column;
  RowTransform rotation;
  RowSource source;
  std::vector<float> centroids;
  std::vector<std::uint32_t> list_of;
  std::vector<float> reaches;
  Regions regions;
  PartitionFacts facts;
};

TEST(Calibration, TheMarginOfRegionsIsANumber) {
  SCOPED_TRACE("seed " + std::to_string(kCalibrationSeed));
  for (const Metric metric : {Metric::kEuclid, Metric::kCosine}) {
    ClumpLists lists(metric, 1200, 8);
    const Similarity similarity = similarity_of(metric);
    lists.regions.first_list = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    measure_regions(lists.centroids, lists.reaches, similarity, lists.regions);
    EXPECT_NEAR(lists.usual()->region_gap, 0, 1e-4) << "a region of one list has its key";
    lists.regions = Regions{{0, 4, 8}, {}, {}};
    measure_regions(lists.centroids, lists.reaches, similarity, lists.regions);
    EXPECT_GE(lists.usual()->region_gap, 0);
    EXPECT_LE(lists.usual()->region_gap, 100);
  }
}

TEST(Calibration, NeighboursInTheNearestListNeedTheLeastGap) {
  SCOPED_TRACE("seed " + std::to_string(kCalibrationSeed));
  for (const Metric metric : {Metric::kEuclid, Metric::kCosine}) {
    const ClumpLists lists(metric, 1200, 4);
    const auto usual = lists.usual();
    ASSERT_TRUE(usual) << usual.error().to_string();
    EXPECT_FLOAT_EQ(usual->gap, 0.01F);
    EXPECT_EQ(usual->n_codes, 300U) << "the rows of one clump";
    ASSERT_TRUE(usual->depths);
    EXPECT_LE(usual->depths->middle, usual->depths->usual);
    EXPECT_TRUE(std::isfinite(usual->depths->usual));
  }
}

/// Half of the rows are in the next clump's list: neighbours are found there, or by a second list.
TEST(Calibration, NeighboursInFarListsNeedAGapUnlessASecondListHasThem) {
  SCOPED_TRACE("seed " + std::to_string(kCalibrationSeed));
  ClumpLists lists(Metric::kEuclid, 1200, 4);
  std::vector<std::uint32_t> second;
  for (std::uint32_t i = 0; i < 1200; ++i) {
    const std::uint32_t next = (i + 1) % 4;
    second.push_back(i % 8 < 4 ? i % 4 : next);
    if (i % 8 < 4) lists.list_of[i] = next;
  }
  const auto far = lists.usual();
  ASSERT_TRUE(far);
  EXPECT_FLOAT_EQ(far->gap, 10) << "the largest there is";
  const auto near = lists.usual(second);
  ASSERT_TRUE(near);
  EXPECT_FLOAT_EQ(near->gap, 0.01F);
  EXPECT_EQ(near->n_codes, 600U) << "each list has the rows of two clumps";
}

TEST(Calibration, FewRowsAndOneListTellNothing) {
  const ClumpLists few(Metric::kEuclid, 900, 4);
  const ClumpLists one(Metric::kEuclid, 1200, 1);
  for (const ClumpLists* lists : {&few, &one}) {
    const auto usual = lists->usual();
    ASSERT_TRUE(usual);
    EXPECT_FLOAT_EQ(usual->gap, 0.25F);
    EXPECT_EQ(usual->n_codes, 0U);
    EXPECT_FALSE(usual->depths);
  }
}

TEST(Calibration, CancelledIsAnError) {
  const Cancel cancel;
  cancel.cancel();
  const auto usual = ClumpLists(Metric::kEuclid, 1200, 4).usual({}, cancel);
  ASSERT_FALSE(usual);
  EXPECT_EQ(usual.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::dense

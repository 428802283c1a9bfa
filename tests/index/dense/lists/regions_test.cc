#include "index/dense/lists/regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "index/dense/lists/search/list_router.h"
#include "index/dense/lists/sections.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/lists/search/lists_files_support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint64_t kRegionSeed = 177;
constexpr std::uint32_t kRegionDim = 64;
constexpr std::uint32_t kManyLists = 3200;

/// `n` clusters around 40 points, each with two rows: `2 i` and `2 i + 1`.
dense::Clusters clusters_in_clumps(std::uint32_t n) {
  Random random(kRegionSeed);
  std::normal_distribution<float> normal;
  std::vector<float> points(40 * kRegionDim);
  for (float& value : points) value = 4 * normal(random);
  dense::Clusters clusters{kRegionDim, {}, {}};
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::size_t point = random() % 40;
    for (std::uint32_t d = 0; d < kRegionDim; ++d) {
      clusters.centroids.push_back(points[point * kRegionDim + d] + normal(random));
    }
    clusters.list_of.insert(clusters.list_of.end(), 2, i);
  }
  return clusters;
}

double squared_distance(const float* a, const float* b) {
  double sum = 0;
  for (std::uint32_t d = 0; d < kRegionDim; ++d) {
    sum += (double{a[d]} - double{b[d]}) * (double{a[d]} - double{b[d]});
  }
  return sum;
}

TEST(Regions, ClustersAreNumberedRegionByRegion) {
  SCOPED_TRACE("seed " + std::to_string(kRegionSeed));
  const Cancel cancel;
  const BuildContext context{nullptr, cancel, kRegionSeed, nullptr};
  const auto before = clusters_in_clumps(kManyLists);
  auto after = before;
  const auto regions = dense::group_lists(context, after);
  ASSERT_TRUE(regions) << regions.error().to_string();
  EXPECT_GT(regions->n(), kManyLists / 64);
  EXPECT_LT(regions->n(), kManyLists / 16);
  EXPECT_EQ(regions->first_list.front(), 0U);
  EXPECT_EQ(regions->first_list.back(), kManyLists);
  EXPECT_TRUE(std::is_sorted(regions->first_list.begin(), regions->first_list.end()));
  for (std::size_t row = 0; row < before.list_of.size(); ++row) {
    const float* was = &before.centroids[std::size_t{before.list_of[row]} * kRegionDim];
    const float* is = &after.centroids[std::size_t{after.list_of[row]} * kRegionDim];
    ASSERT_TRUE(std::equal(was, was + kRegionDim, is)) << "row " << row;
  }
  // Lists of a region are nearer to one another than lists that a random number chooses.
  double within = 0;
  double across = 0;
  for (std::uint32_t list = 0; list + 1 < kManyLists; ++list) {
    const float* centroid = &after.centroids[std::size_t{list} * kRegionDim];
    within += squared_distance(centroid, centroid + kRegionDim);
    across += squared_distance(centroid, &before.centroids[std::size_t{list} * kRegionDim]);
  }
  EXPECT_LT(within, across / 4);
}

TEST(Regions, FewListsHaveNone) {
  const Cancel cancel;
  const auto before = clusters_in_clumps(2999);
  auto after = before;
  const auto regions = dense::group_lists({nullptr, cancel, kRegionSeed, nullptr}, after);
  ASSERT_TRUE(regions);
  EXPECT_EQ(regions->n(), 0U);
  EXPECT_EQ(before.centroids, after.centroids);
}

TEST(Regions, TheirCentroidsAndReachesAreMeans) {
  SCOPED_TRACE("seed " + std::to_string(kRegionSeed));
  const auto clusters = clusters_in_clumps(100);
  Random random(kRegionSeed);
  std::uniform_real_distribution<float> uniform(0, 3);
  std::vector<float> reaches(100);
  for (float& reach : reaches) reach = uniform(random);
  dense::Regions regions{{0, 30, 31, 100}, {}, {}};
  dense::measure_regions(clusters.centroids, reaches, Similarity::kDot, regions);
  ASSERT_EQ(regions.centroids.size(), 3 * kRegionDim);
  ASSERT_EQ(regions.reaches.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint32_t first = regions.first_list[i];
    const std::uint32_t end = regions.first_list[i + 1];
    std::vector<double> mean(kRegionDim, 0);
    double reach = 0;
    for (std::uint32_t list = first; list < end; ++list) {
      for (std::uint32_t d = 0; d < kRegionDim; ++d) {
        mean[d] += double{clusters.centroids[list * kRegionDim + d]} / (end - first);
      }
      const float* centroid = &clusters.centroids[list * kRegionDim];
      reach += reaches[list] / (end - first);
      reach += squared_distance(centroid, &regions.centroids[i * kRegionDim]) / 2 / (end - first);
    }
    for (std::uint32_t d = 0; d < kRegionDim; ++d) {
      EXPECT_NEAR(regions.centroids[i * kRegionDim + d], mean[d], 1e-4);
    }
    EXPECT_NEAR(regions.reaches[i], reach, 1e-3 * reach);
  }
  dense::Regions of_distances{{0, 100}, {}, {}};
  dense::measure_regions(clusters.centroids, std::vector<float>(100, 0.0F),
                         Similarity::kNegL2Squared, of_distances);
  EXPECT_EQ(of_distances.reaches, std::vector<float>{0});
}

/// Writes the sections of a file of lists, of regions those of `first_lists` and `gap`; without
/// regions if `first_lists` is empty.
void write_with_regions(const SectionReader& reader, const std::vector<std::uint32_t>& first_lists,
                        float gap, Directory& out) {
  auto file = out.create_file("lists.qvx");
  ASSERT_TRUE(file);
  SectionWriter writer(kListsFormat, *std::move(file));
  for (std::uint32_t kind = 1; kind < 50; ++kind) {
    if (!reader.has(kind)) continue;
    const bool is_of_regions = kind >= dense::kRegionLists && kind <= dense::kRegionGap;
    if (is_of_regions && first_lists.empty()) continue;
    if (kind == dense::kRegionLists) {
      writer.section(kind, std::span<const std::uint32_t>(first_lists));
    } else if (kind == dense::kRegionGap) {
      writer.section(kind, std::span<const float>(&gap, 1));
    } else {
      writer.section(kind, std::span<const std::byte>(reader.get<std::byte>(kind)->span()));
    }
  }
  ASSERT_TRUE(writer.finish(reader.n_rows()));
}

class RegionsOfAnIndex : public ::testing::TestWithParam<Metric> {
 protected:
  RegionsOfAnIndex()
      : clumps_(dense_schema(kRegionDim, GetParam()), 60, random_),
        index_(clumps_.column(10'000),
               {{"n_lists", std::int64_t{kManyLists}}, {"graph", "never"}}) {}

  [[nodiscard]] Result<dense::Partition> open(const Directory& directory) const {
    return dense::Partition::open(lists_of(directory), index_.column.schema, index_.column.n_rows);
  }
  /// The index's lists without their regions.
  [[nodiscard]] dense::Partition without_regions() const {
    const auto directory = make_memory_directory();
    write_with_regions(lists_of(*index_.directory), {}, 0, *directory);
    return open(*directory).value();
  }

  Random random_{kRegionSeed};
  Clumps clumps_;
  IvfIndex index_;
};

INSTANTIATE_TEST_SUITE_P(Metrics, RegionsOfAnIndex,
                         ::testing::Values(Metric::kDot, Metric::kCosine, Metric::kEuclid));

TEST_P(RegionsOfAnIndex, FewNearListsAreMissed) {
  const auto with = open(*index_.directory).value();
  const auto without = without_regions();
  ASSERT_GT(with.n_regions(), kManyLists / 64);
  ASSERT_EQ(without.n_regions(), 0U);
  const Similarity similarity = similarity_of(GetParam());
  const dense::ListRouter near(with, similarity);
  const dense::ListRouter all(without, similarity);
  dense::ScanScratch scan;
  dense::RouteScratch scratch;
  dense::RouteScratch all_scratch;
  std::size_t n_found = 0;
  std::size_t n_wanted = 0;
  std::size_t n_first = 0;
  constexpr int kQueries = 50;
  for (int q = 0; q < kQueries; ++q) {
    alignas(64) float values[kRegionDim];
    alignas(64) std::uint8_t tables[4 * kRegionDim];
    const auto query = clumps_.query();
    std::copy(query.values().begin(), query.values().end(), values);
    dense::stretch(similarity, with.facts().length, values);
    const dense::RotatedQuery rotated{values,
                                      kernels().codes.prepare(values, kRegionDim / 32, tables), 0};
    const float gap = with.facts().usual_gap;
    const auto wanted = all.within(rotated, gap, kManyLists, scan, all_scratch);
    const auto found = near.within(rotated, gap, kManyLists, scan, scratch);
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
    EXPECT_TRUE(std::adjacent_find(found.begin(), found.end(), [](const auto& a, const auto& b) {
                  return a.list == b.list;
                }) == found.end());
    n_wanted += wanted.size();
    n_found += static_cast<std::size_t>(
        std::count_if(wanted.begin(), wanted.end(), [&](const dense::Probe& probe) {
          return std::any_of(found.begin(), found.end(),
                             [&](const dense::Probe& other) { return other.list == probe.list; });
        }));
    const std::uint32_t best = all.nearest(rotated, 1, scan, all_scratch).front().list;
    n_first += near.nearest(rotated, 1, scan, scratch).front().list == best ? 1 : 0;
    EXPECT_GE(near.within(rotated, 0.001F, kManyLists, scan, scratch).size(), 1U);
    EXPECT_EQ(near.within(rotated, 1e6F, kManyLists, scan, scratch).size(), kManyLists);
    EXPECT_EQ(near.nearest(rotated, 500, scan, scratch).size(), 500U);
    EXPECT_EQ(near.nearest(rotated, kManyLists, scan, scratch).size(), kManyLists);
  }
  EXPECT_GT(static_cast<double>(n_found), .9 * static_cast<double>(n_wanted)) << n_wanted;
  EXPECT_GT(n_first, .6 * kQueries) << "else one of the next is the first";
}

TEST_P(RegionsOfAnIndex, TheSameForAnyNumberOfThreads) {
  Executor executor(3, "test");
  const auto together = make_memory_directory();
  build_ivf(index_.column, {{"n_lists", std::int64_t{kManyLists}}, {"graph", "never"}}, *together,
            &executor);
  EXPECT_TRUE(bytes_of_file(*index_.directory, "lists.qvx") ==
              bytes_of_file(*together, "lists.qvx"));
}

/// Distances of huge values overflow: rows are found, as without regions.
TEST(Regions, HugeValuesAreFound) {
  Random random(kRegionSeed);
  std::normal_distribution<float> normal;
  std::vector<std::optional<PlainVector>> rows(4000, PlainVector{});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::uint32_t d = 0; d < 8; ++d) {
      rows[i]->values.push_back((i % 2 == 0 ? 1e19F : -1e19F) * (1 + 0.01F * normal(random)));
    }
  }
  const auto schema = dense_schema(8, Metric::kEuclid);
  const IvfIndex index(make_column(schema, rows),
                       {{"n_lists", std::int64_t{3100}}, {"graph", "never"}});
  for (const std::uint32_t row : {0U, 1U, 2000U}) {
    const auto found = index.find(make_query(schema, *rows[row]), {}, RowFilter::all(4000), 3);
    EXPECT_EQ(found.hits.size(), 3U);
  }
}

TEST_P(RegionsOfAnIndex, DamagedOnesAreRefused) {
  const auto reader = lists_of(*index_.directory);
  const auto section = reader.get<std::uint32_t>(dense::kRegionLists);
  ASSERT_TRUE(section);
  const std::vector<std::uint32_t> whole(section->begin(), section->end());
  auto falling = whole;
  std::swap(falling[1], falling[2]);
  auto too_far = whole;
  too_far.back() += 1;
  auto too_late = whole;
  too_late.front() = 1;
  const float nan = std::nanf("");
  const std::vector<std::pair<std::vector<std::uint32_t>, float>> cases{
      {falling, 0}, {too_far, 0}, {too_late, 0}, {{kManyLists}, 0}, {whole, nan}, {whole, -0.1F}};
  for (const auto& [first_lists, gap] : cases) {
    const auto directory = make_memory_directory();
    write_with_regions(reader, first_lists, gap, *directory);
    const auto opened = open(*directory);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Code::kDataLoss) << opened.error().to_string();
  }
  const auto directory = make_memory_directory();
  write_with_regions(reader, whole, 0.5F, *directory);
  EXPECT_TRUE(open(*directory));
}

}  // namespace
}  // namespace quiver::index::testing

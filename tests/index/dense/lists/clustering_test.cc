#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "index/dense/lists/clustering.h"
#include "index/index.h"

namespace quiver::index::dense {
namespace {

using Random = std::mt19937_64;

/// `[n, dim]` rows in memory.
struct Rows {
  std::uint32_t n = 0;
  std::uint32_t dim = 0;
  std::vector<float> values;

  [[nodiscard]] RowReader reader() const {
    return [this](std::uint32_t row, float* out) {
      const float* first = at(row);
      std::copy(first, first + dim, out);
    };
  }
  [[nodiscard]] const float* at(std::size_t row) const { return values.data() + row * dim; }
};

/// Normally distributed around `n_centres` points.
Rows clumps(std::uint32_t n, std::uint32_t dim, std::uint32_t n_centres, std::uint64_t seed) {
  Random random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> centres(std::size_t{n_centres} * dim);
  for (float& value : centres) value = 2 * normal(random);
  Rows rows{n, dim, std::vector<float>(std::size_t{n} * dim)};
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t centre = random() % n_centres;
    for (std::size_t d = 0; d < dim; ++d) {
      rows.values[i * dim + d] = centres[centre * dim + d] + normal(random);
    }
  }
  return rows;
}

double distance(const float* a, const float* b, std::uint32_t dim) {
  double sum = 0;
  for (std::size_t d = 0; d < dim; ++d) {
    sum += (double{a[d]} - double{b[d]}) * (double{a[d]} - double{b[d]});
  }
  return sum;
}

const float* centroid(const Clusters& clusters, std::size_t c) {
  return clusters.centroids.data() + c * clusters.dim;
}

double nearest_distance(const float* row, const Clusters& clusters) {
  double least = distance(row, centroid(clusters, 0), clusters.dim);
  for (std::uint32_t c = 1; c < clusters.n(); ++c) {
    least = std::min(least, distance(row, centroid(clusters, c), clusters.dim));
  }
  return least;
}

struct Call {
  Cancel cancel;
  Executor* executor = nullptr;
  [[nodiscard]] BuildContext context() const { return {executor, cancel, 0, nullptr}; }
};

Clusters clustered(const Rows& rows, const ClusterOptions& options, Executor* executor = nullptr) {
  Call call;
  call.executor = executor;
  auto clusters = cluster(rows.reader(), rows.n, rows.dim, options, call.context());
  EXPECT_TRUE(clusters.has_value());
  return std::move(clusters).value();
}

std::vector<std::uint32_t> sizes(const Clusters& clusters) {
  std::vector<std::uint32_t> sizes(clusters.n());
  for (const std::uint32_t list : clusters.list_of) ++sizes.at(list);
  return sizes;
}

void expect_within_bounds(const Clusters& clusters, std::uint32_t n_rows,
                          std::uint32_t n_clusters) {
  ASSERT_EQ(clusters.list_of.size(), n_rows);
  ASSERT_EQ(clusters.centroids.size() % clusters.dim, 0U);
  const ListBounds bounds = ListBounds::of(n_rows, n_clusters);
  for (const std::uint32_t size : sizes(clusters)) {
    EXPECT_GE(size, bounds.min);
    EXPECT_LE(size, bounds.max);
  }
  for (const float value : clusters.centroids) EXPECT_TRUE(std::isfinite(value));
}

TEST(IvfClustering, ManyShapesAreWithinBounds) {
  for (const std::uint32_t dim : {1U, 2U, 3U, 17U, 64U, 385U, 4100U}) {
    for (const std::uint32_t n : {1U, 2U, 5U, 64U, 65U, 500U}) {
      for (const std::uint32_t n_clusters : {0U, 1U, 3U, 20U, 1000U}) {
        if (dim > 1000 && n > 100) continue;
        SCOPED_TRACE(::testing::Message() << dim << "-d, " << n << " into " << n_clusters);
        const Rows rows = clumps(n, dim, 7, dim + n);
        const Clusters clusters = clustered(rows, {.n_clusters = n_clusters});
        const std::uint32_t wanted = n_clusters == 0 ? (n + 255) / 256 : std::min(n, n_clusters);
        expect_within_bounds(clusters, n, wanted);
        EXPECT_LE(clusters.n(), 4 * wanted);
      }
    }
  }
}

TEST(IvfClustering, NoRowsHaveNoClusters) {
  const Clusters clusters = clustered({0, 5, {}}, {.n_clusters = 3});
  EXPECT_EQ(clusters.n(), 0U);
  EXPECT_TRUE(clusters.list_of.empty());
}

TEST(IvfClustering, RowsThatAreAllTheSameAreSplitAllTheSame) {
  for (const float value : {0.0f, 1.0f, -3e30f}) {
    SCOPED_TRACE(value);
    const Rows rows{1000, 8, std::vector<float>(8000, value)};
    const Clusters clusters = clustered(rows, {.n_clusters = 10});
    expect_within_bounds(clusters, 1000, 10);
    for (const float c : clusters.centroids) EXPECT_FLOAT_EQ(c, value);
  }
}

TEST(IvfClustering, DuplicatesAndZeroRows) {
  Rows rows = clumps(2000, 12, 5, 4);
  for (std::size_t i = 0; i < rows.values.size() / 2; ++i) rows.values[i] = 0;
  for (std::size_t row = 1200; row < 1600; ++row) {
    std::copy(rows.at(1199), rows.at(1200), rows.values.data() + row * 12);
  }
  expect_within_bounds(clustered(rows, {.n_clusters = 40}), 2000, 40);
}

TEST(IvfClustering, NearlyEveryRowIsInItsNearestList) {
  const Rows rows = clumps(6000, 24, 50, 11);
  const Clusters clusters = clustered(rows, {.n_clusters = 30});
  expect_within_bounds(clusters, rows.n, 30);
  double own = 0;
  double nearest = 0;
  for (std::uint32_t row = 0; row < rows.n; ++row) {
    own += distance(rows.at(row), centroid(clusters, clusters.list_of[row]), rows.dim);
    nearest += nearest_distance(rows.at(row), clusters);
  }
  EXPECT_LE(own, nearest * 1.02);
}

TEST(IvfClustering, FarClumpsAreFound) {
  Rows rows = clumps(4000, 16, 20, 3);
  for (float& value : rows.values) value *= 1e-3f;
  for (std::size_t row = 0; row < rows.n; ++row) {  // 8 corners, far apart beside the spread
    for (std::size_t bit = 0; bit < 3; ++bit) {
      rows.values[row * 16 + bit] += static_cast<float>(row >> bit & 1);
    }
  }
  const Clusters clusters = clustered(rows, {.n_clusters = 40});
  expect_within_bounds(clusters, rows.n, 40);
  for (std::uint32_t row = 0; row < rows.n; ++row) {
    EXPECT_LE(distance(rows.at(row), centroid(clusters, clusters.list_of[row]), 16), 0.25);
  }
}

TEST(IvfClustering, SameBytesWhateverTheThreads) {
  const Rows rows = clumps(5000, 33, 60, 21);
  const ClusterOptions options{.n_clusters = 37, .iterations = 6, .seed = 5};
  const Clusters alone = clustered(rows, options);
  for (const std::size_t n_threads : {1U, 2U, 5U}) {
    Executor executor(n_threads, "clusters");
    const Clusters together = clustered(rows, options, &executor);
    EXPECT_EQ(together.centroids, alone.centroids);
    EXPECT_EQ(together.list_of, alone.list_of);
  }
}

TEST(IvfClustering, AnotherSeedIsAnotherPartition) {
  const Rows rows = clumps(3000, 10, 30, 22);
  EXPECT_NE(clustered(rows, {.n_clusters = 20, .seed = 1}).centroids,
            clustered(rows, {.n_clusters = 20, .seed = 2}).centroids);
}

TEST(IvfClustering, AssignsToTheNearest) {
  const Rows rows = clumps(700, 40, 30, 31);
  const Rows centres = clumps(90, 40, 30, 32);
  const Clusters clusters{40, centres.values, {}};
  Call call;
  const auto lists = assign(rows.reader(), rows.n, 40, centres.values, call.context()).value();
  for (std::uint32_t row = 0; row < rows.n; ++row) {
    EXPECT_LE(distance(rows.at(row), centroid(clusters, lists[row]), 40),
              nearest_distance(rows.at(row), clusters) * 1.02);
  }
}

TEST(IvfClustering, ManyClustersAreNearlyAsGoodAsIfAllWereLookedAt) {
  const Rows rows = clumps(15000, 16, 400, 35);
  const Clusters clusters = clustered(rows, {.n_clusters = 1500, .sample_per_cluster = 10});
  expect_within_bounds(clusters, rows.n, 1500);
  EXPECT_NEAR(clusters.n(), 1500, 75);
  Call call;
  const auto lists = assign(rows.reader(), rows.n, 16, clusters.centroids, call.context()).value();
  double found = 0;
  double kept = 0;
  double nearest = 0;
  for (std::uint32_t row = 0; row < rows.n; row += 7) {
    found += distance(rows.at(row), centroid(clusters, lists[row]), 16);
    kept += distance(rows.at(row), centroid(clusters, clusters.list_of[row]), 16);
    nearest += nearest_distance(rows.at(row), clusters);
  }
  EXPECT_LE(found, nearest * 1.01);
  EXPECT_LE(kept, nearest * 1.05);
  Executor executor(3, "clusters");
  EXPECT_EQ(clustered(rows, {.n_clusters = 1500, .sample_per_cluster = 10}, &executor).centroids,
            clusters.centroids);
}

TEST(IvfClustering, OneFarRowSpoilsNothing) {
  Rows rows = clumps(3000, 16, 20, 36);
  for (std::size_t d = 0; d < 16; ++d) rows.values[d] = 1e20f;
  const Clusters clusters = clustered(rows, {.n_clusters = 20});
  expect_within_bounds(clusters, rows.n, 20);
  double own = 0;
  double nearest = 0;
  for (std::uint32_t row = 1; row < rows.n; ++row) {
    own += distance(rows.at(row), centroid(clusters, clusters.list_of[row]), 16);
    nearest += nearest_distance(rows.at(row), clusters);
  }
  EXPECT_LE(own, nearest * 1.1);
}

double spill_loss(const float* row, const float* own, const float* other, std::uint32_t dim,
                  double lambda) {
  double along = 0;
  for (std::size_t d = 0; d < dim; ++d) {
    along += (double{row[d]} - double{own[d]}) * (double{row[d]} - double{other[d]});
  }
  return distance(row, other, dim) + lambda * along * along / distance(row, own, dim);
}

TEST(IvfClustering, SecondListsHaveTheLeastLoss) {
  const Rows rows = clumps(900, 20, 30, 41);
  const Clusters clusters = clustered(rows, {.n_clusters = 25});
  for (const float lambda : {0.0f, 1.0f, 3.0f}) {
    SCOPED_TRACE(lambda);
    Call call;
    const auto lists =
        second_lists(rows.reader(), rows.n, clusters, lambda, call.context()).value();
    double found = 0;
    double best = 0;
    for (std::uint32_t row = 0; row < rows.n; ++row) {
      const std::uint32_t own = clusters.list_of[row];
      ASSERT_NE(lists[row], own);
      const auto loss = [&](std::uint32_t c) {
        return spill_loss(rows.at(row), centroid(clusters, own), centroid(clusters, c), rows.dim,
                          lambda);
      };
      double least = loss(lists[row]);
      found += least;
      for (std::uint32_t c = 0; c < clusters.n(); ++c) {
        if (c != own) least = std::min(least, loss(c));
      }
      best += least;
    }
    EXPECT_LE(found, best * 1.02);
  }
}

TEST(IvfClustering, OneListIsItsOwnSecond) {
  const Rows rows = clumps(20, 4, 1, 51);
  const Clusters clusters = clustered(rows, {.n_clusters = 1});
  Call call;
  const auto lists = second_lists(rows.reader(), rows.n, clusters, 1, call.context()).value();
  EXPECT_EQ(lists, std::vector<std::uint32_t>(20, 0));
}

TEST(IvfClustering, CancelledIsAnError) {
  const Rows rows = clumps(2000, 8, 4, 61);
  Call call;
  call.cancel.cancel();
  const auto clusters = cluster(rows.reader(), rows.n, 8, {.n_clusters = 9}, call.context());
  ASSERT_FALSE(clusters.has_value());
  EXPECT_EQ(clusters.error().code(), Code::kCancelled);
}

TEST(IvfClustering, TellsOfProgress) {
  const Rows rows = clumps(3000, 8, 4, 71);
  Call call;
  BuildContext context = call.context();
  std::uint64_t most = 0;
  context.progress = [&](std::uint64_t n) { most = std::max(most, n); };
  ASSERT_TRUE(cluster(rows.reader(), rows.n, 8, {.n_clusters = 9}, context).has_value());
  EXPECT_EQ(most, rows.n);
}

}  // namespace
}  // namespace quiver::index::dense

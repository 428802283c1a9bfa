// FAISS beside our exact search and our clustering.
#include <faiss/Clustering.h>
#include <faiss/IndexFlat.h>
#include <gtest/gtest.h>

#include <memory>

#include "index/dense/lists/clustering.h"
#include "index/exact/searcher.h"
#include "tests/index/dense/dense_support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr std::uint32_t kDim = 40, kRows = 3000;

std::vector<float> floats_of(const FieldColumn& column) {
  std::vector<float> values;
  for (std::uint32_t row = 0; row < column.n_rows; ++row) {
    for (std::uint32_t d = 0; d < column.schema.dim; ++d) {
      values.push_back(static_cast<float>(stored_value(column.dense().rows(), row, d)));
    }
  }
  return values;
}

TEST(FaissOracle, ExactSearchesFindTheSame) {
  Random random(kSeed);
  for (const Metric metric : {Metric::kDot, Metric::kEuclid}) {
    Clumps clumps(dense_schema(kDim, metric), 20, random);
    const FieldColumn column = clumps.column(kRows);
    const auto values = floats_of(column);
    faiss::IndexFlat theirs(
        kDim, metric == Metric::kDot ? faiss::METRIC_INNER_PRODUCT : faiss::METRIC_L2);
    theirs.add(kRows, values.data());
    for (int i = 0; i < 50; ++i) {
      const PreparedQuery query = clumps.query();
      std::vector<float> distances(20);
      std::vector<faiss::Index::idx_t> labels(20);
      theirs.search(1, query.values().data(), 20, distances.data(), labels.data());
      const Cancel cancel;
      TopK top(20);
      WorkCounters work;
      ASSERT_TRUE(FlatSearcher(column).search(query, {}, RowFilter::all(kRows),
                                              {cancel, nullptr, {}}, top, work));
      const auto hits = top.take_sorted();
      for (std::size_t h = 0; h < hits.size(); ++h) {
        EXPECT_EQ(hits[h].row, static_cast<std::uint32_t>(labels[h])) << "seed " << kSeed;
        const float score = metric == Metric::kDot ? distances[h] : -distances[h];
        EXPECT_NEAR(hits[h].score, score, 1e-3F * std::abs(score));
      }
    }
  }
}

/// Mean squared distance of the rows to their nearest centroid.
double inertia(const std::vector<float>& rows, const std::vector<float>& centroids) {
  faiss::IndexFlatL2 index(kDim);
  index.add(static_cast<faiss::Index::idx_t>(centroids.size() / kDim), centroids.data());
  std::vector<float> distances(kRows);
  std::vector<faiss::Index::idx_t> labels(kRows);
  index.search(kRows, rows.data(), 1, distances.data(), labels.data());
  double sum = 0;
  for (const float distance : distances) sum += distance;
  return sum / kRows;
}

/// Ours bounds the sizes of lists, which costs a little.
TEST(FaissOracle, ClustersAreAboutAsTight) {
  constexpr std::uint32_t kClusters = 32;
  Random random(kSeed);
  Clumps clumps(dense_schema(kDim, Metric::kEuclid), 50, random);
  const auto rows = floats_of(clumps.column(kRows));
  dense::ClusterOptions options;
  options.n_clusters = kClusters;
  const Cancel cancel;
  const auto read = [&](std::uint32_t row, float* out) {
    std::copy_n(rows.data() + std::size_t{row} * kDim, kDim, out);
  };
  const auto ours = dense::cluster(read, kRows, kDim, options, {nullptr, cancel, kSeed, nullptr});
  ASSERT_TRUE(ours);
  faiss::ClusteringParameters parameters;
  parameters.niter = 25;
  parameters.seed = kSeed;
  faiss::Clustering theirs(kDim, static_cast<int>(ours->n()), parameters);
  faiss::IndexFlatL2 assignment(kDim);
  theirs.train(kRows, rows.data(), assignment);
  EXPECT_LT(inertia(rows, ours->centroids), 1.05 * inertia(rows, theirs.centroids));
}

}  // namespace
}  // namespace quiver::index::testing

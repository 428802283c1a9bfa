// k-means works on rows as bytes (kmeans_rows.h): trained on a sample
// (kmeans_training.h), then all rows are looked up (kmeans_router.h), and lists
// brought within bounds (kmeans_balance.h). Memory: [n_sample, dim] bytes, a
// number for each row, and 4 MiB or 1,024 rows a thread.
#include "index/ivf/clustering.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "index/ivf/kmeans_balance.h"
#include "index/ivf/kmeans_router.h"
#include "index/ivf/kmeans_training.h"
#include "kernels/kernels.h"

namespace quiver::index::ivf {
namespace {

constexpr std::uint32_t kRowsPerCluster = 256;

/// `fn(first row, number of rows)` for blocks of rows, on all threads; tells of
/// progress.
template <class F>
Result<> for_blocks(std::uint32_t n_rows, std::uint32_t dim, const BuildContext& context, F&& fn) {
  constexpr std::size_t kBlockBytes = 4 * 1024 * 1024;
  const auto n_block =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(kBlockBytes / dim, 1024, 65536));
  std::atomic<std::uint64_t> n_done = 0;
  for_each(context, (std::size_t{n_rows} + n_block - 1) / n_block, [&](std::size_t block) {
    if (context.cancel.poll()) return;
    const auto first = static_cast<std::uint32_t>(block * n_block);
    const std::uint32_t n = std::min(n_block, n_rows - first);
    fn(first, n);
    const std::uint64_t done = n_done += n;
    if (context.progress) context.progress(done);
  });
  return context.cancel.check();
}

ByteGrid grid_for(const RowReader& rows, std::uint32_t n_rows, std::uint32_t dim) {
  constexpr std::uint32_t kRows = 2048;
  return {rows, spread(std::min(n_rows, kRows), n_rows, 0), dim};
}

ByteRows encode_sample(const RowReader& rows, const std::vector<std::uint32_t>& sample,
                       const ByteGrid& grid, const BuildContext& context) {
  constexpr std::size_t kPerTask = 1024;
  ByteRows codes(sample.size(), grid.dim());
  for_each(context, (sample.size() + kPerTask - 1) / kPerTask, [&](std::size_t task) {
    if (context.cancel.poll()) return;
    std::vector<float> buffer(grid.dim());
    const std::size_t end = std::min(sample.size(), (task + 1) * kPerTask);
    for (std::size_t i = task * kPerTask; i < end; ++i) {
      grid.encode(rows, sample[i], buffer.data(), codes.at(i));
    }
  });
  return codes;
}

Result<std::vector<std::uint32_t>> assign_codes(const RowReader& rows, std::uint32_t n_rows,
                                                const ByteGrid& grid, const Centres& centres,
                                                const BuildContext& context) {
  const Router router(centres, context);
  std::vector<std::uint32_t> lists(n_rows);
  QV_TRY(for_blocks(n_rows, grid.dim(), context, [&](std::uint32_t first, std::uint32_t n) {
    ByteRows codes(n, grid.dim());
    std::vector<float> buffer(grid.dim());
    for (std::uint32_t i = 0; i < n; ++i) {
      grid.encode(rows, first + i, buffer.data(), codes.at(i));
    }
    router.nearest(codes.view(), lists.data() + first);
  }));
  return lists;
}

std::vector<float> in_codes(const ByteGrid& grid, std::span<const float> centroids) {
  std::vector<float> means(centroids.size());
  for (std::size_t first = 0; first < means.size(); first += grid.dim()) {
    grid.to_codes(centroids.data() + first, means.data() + first);
  }
  return means;
}

/// The choice of second lists, for one row at a time. With |x - c|^2 as d(c):
/// the product of differences (x - a) . (x - c) is (d(a) + d(c) - |a - c|^2)
/// / 2.
class Spilling {
 public:
  Spilling(const Clusters& clusters, const Neighbours& neighbours, float lambda)
      : clusters_(clusters),
        neighbours_(neighbours),
        lambda_(lambda),
        between_(clusters.n() * neighbours.of(0).size()) {
    for (std::uint32_t c = 0; c < clusters.n(); ++c) {
      const auto near = neighbours.of(c);
      distances(centroid(c), near, between_.data() + c * near.size());
    }
  }

  [[nodiscard]] std::uint32_t second(const float* row, std::uint32_t own) const {
    const auto near = neighbours_.of(own);  // the first is `own` itself
    float to_row[kMost];
    const float* to_own = between_.data() + own * near.size();
    distances(row, near, to_row);
    std::size_t best = 0;
    float least = std::numeric_limits<float>::infinity();
    for (std::size_t i = 1; i < near.size(); ++i) {
      const float along = 0.5f * (to_row[0] + to_row[i] - to_own[i]);
      const float loss = to_row[i] + (to_row[0] > 0 ? lambda_ * along * along / to_row[0] : 0.0f);
      if (best != 0 && !(loss < least)) continue;
      least = loss;
      best = i;
    }
    return near[best];
  }

  static constexpr std::size_t kMost = 64;

 private:
  [[nodiscard]] const float* centroid(std::uint32_t c) const {
    return clusters_.centroids.data() + std::size_t{c} * clusters_.dim;
  }
  void distances(const float* from, std::span<const std::uint32_t> to, float* out) const {
    kernels()
        .dense(Similarity::kNegL2Squared, DType::kF32)
        .gather(from, clusters_.dim, reinterpret_cast<const std::byte*>(centroid(0)),
                clusters_.dim * sizeof(float), to.data(), to.size(), out);
    for (std::size_t i = 0; i < to.size(); ++i) out[i] = -out[i];
  }

  const Clusters& clusters_;
  const Neighbours& neighbours_;
  float lambda_;
  std::vector<float> between_;  // [n, number of neighbours] distances of centroids
};

}  // namespace

Result<Clusters> cluster(const RowReader& rows, std::uint32_t n_rows, std::uint32_t dim,
                         const ClusterOptions& options, const BuildContext& context) {
  Clusters clusters{dim, {}, {}};
  if (n_rows == 0) return clusters;
  const std::uint32_t wanted =
      options.n_clusters != 0 ? options.n_clusters : (n_rows - 1) / kRowsPerCluster + 1;
  const std::uint32_t n_clusters = std::min(wanted, n_rows);
  const std::uint64_t n_sample =
      std::uint64_t{n_clusters} * std::max(1U, options.sample_per_cluster);
  const auto sample = spread(static_cast<std::uint32_t>(std::min<std::uint64_t>(n_rows, n_sample)),
                             n_rows, options.seed);
  const ByteGrid grid = grid_for(rows, n_rows, dim);
  std::vector<float> means;
  {
    const ByteRows codes = encode_sample(rows, sample, grid, context);
    QV_TRY(means, train(codes, n_clusters, options.iterations, options.seed, context));
  }
  clusters.centroids.resize(means.size());
  for (std::size_t first = 0; first < means.size(); first += dim) {
    grid.from_codes(means.data() + first, clusters.centroids.data() + first);
  }
  QV_TRY(clusters.list_of, assign_codes(rows, n_rows, grid, Centres(means, dim), context));
  QV_TRY(balance(rows, ListBounds::of(n_rows, n_clusters), context, clusters));
  return clusters;
}

Result<std::vector<std::uint32_t>> assign(const RowReader& rows, std::uint32_t n_rows,
                                          std::uint32_t dim, std::span<const float> centroids,
                                          const BuildContext& context) {
  if (n_rows == 0) return std::vector<std::uint32_t>();
  const ByteGrid grid = grid_for(rows, n_rows, dim);
  return assign_codes(rows, n_rows, grid, Centres(in_codes(grid, centroids), dim), context);
}

Result<std::vector<std::uint32_t>> second_lists(const RowReader& rows, std::uint32_t n_rows,
                                                const Clusters& clusters, float lambda,
                                                const BuildContext& context) {
  if (n_rows == 0) return std::vector<std::uint32_t>();
  const std::uint32_t dim = clusters.dim;
  const ByteGrid grid = grid_for(rows, n_rows, dim);
  const Centres centres(in_codes(grid, clusters.centroids), dim);
  const Neighbours neighbours(centres, Spilling::kMost, context);
  const Spilling spilling(clusters, neighbours, lambda);
  std::vector<std::uint32_t> lists(n_rows);
  QV_TRY(for_blocks(n_rows, dim, context, [&](std::uint32_t first, std::uint32_t n) {
    std::vector<float> row(dim);
    for (std::uint32_t i = first; i < first + n; ++i) {
      rows(i, row.data());
      lists[i] = spilling.second(row.data(), clusters.list_of[i]);
    }
  }));
  return lists;
}

}  // namespace quiver::index::ivf

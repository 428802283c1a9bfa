// Steps: rows become bytes (kmeans/rows.h), centres are trained on a sample (kmeans/training.h),
// all rows are assigned (kmeans/centre_router.h), list sizes are bounded (balance.cc). Memory:
// `[n_sample, dim]` bytes, a number for each row, and 4 MiB or 1,024 rows per thread.
#include "index/dense/lists/clustering.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "index/dense/lists/kmeans/centre_router.h"
#include "index/dense/lists/kmeans/training.h"
#include "index/progress.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {
namespace {

constexpr std::uint32_t kRowsPerCluster = 256;

/// Calls `fn(first row, number of rows)` for blocks of rows on all threads, and reports progress.
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

ByteMatrix encode_sample(const RowReader& rows, const std::vector<std::uint32_t>& sample,
                         const ByteGrid& grid, const BuildContext& context) {
  constexpr std::size_t kPerTask = 1024;
  ByteMatrix codes(sample.size(), grid.dim());
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
  const CentreRouter router(centres, context);
  std::vector<std::uint32_t> lists(n_rows);
  QV_TRY(for_blocks(n_rows, grid.dim(), context, [&](std::uint32_t first, std::uint32_t n) {
    ByteMatrix codes(n, grid.dim());
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

ByteMatrix encode_rows(const RowReader& rows, std::span<const std::uint32_t> numbers,
                       const ByteGrid& grid) {
  ByteMatrix codes(numbers.size(), grid.dim());
  std::vector<float> buffer(grid.dim());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    grid.encode(rows, numbers[i], buffer.data(), codes.at(i));
  }
  return codes;
}

/// Share of the progress at which training ends.
constexpr double kTrainedShare = 0.75;

/// True if the older partition has between half and twice the wanted number of lists.
bool suits(const ClusterOptions& options, std::uint32_t n_clusters, std::uint32_t dim) {
  const std::size_t n_old = options.start.size() / dim;
  return n_old != 0 && n_old <= std::size_t{2} * n_clusters && n_clusters <= 2 * n_old;
}

/// Clips means to the grid, as rows are clipped.
std::vector<float> clipped(std::vector<float> means) {
  for (float& value : means) value = std::clamp(value, value_of(0), value_of(255));
  return means;
}

Result<Resumed> trained_on(const ByteMatrix& codes, std::uint32_t n_clusters,
                           const ClusterOptions& options, const ByteGrid& grid,
                           const BuildContext& context) {
  if (suits(options, n_clusters, grid.dim())) {
    QV_TRY(auto resumed, resume(codes, clipped(in_codes(grid, options.start)), n_clusters,
                                options.seed, context));
    if (resumed) return *std::move(resumed);
  }
  QV_TRY(auto means, train(codes, n_clusters, options.iterations, options.seed, context));
  return Resumed{std::move(means), {}};
}

/// Choice of second lists, list by list. With d(c) = |x - c|^2, own centroid a and other centroid
/// c: (x - a) . (x - c) = (d(a) + d(c) - |a - c|^2) / 2. All in units of codes.
class Spilling {
 public:
  /// Centroids compared, nearest to a row's own. Second lists are not those nearest to the first:
  /// with 64, a given recall took a quarter more codes; with all 1,264, as many as with 512.
  static constexpr std::size_t kMaxNearCentroids = 512;

  /// `means`: the centroids, in units of codes.
  Spilling(std::span<const float> means, const Centres& centres, float lambda,
           const BuildContext& context)
      : means_(means),
        centres_(centres),
        neighbours_(centres, kMaxNearCentroids, context),
        lambda_(lambda) {}

  /// Writes the second list of each of `rows`, which are all in list `own`, to `lists`.
  void choose(const ByteView& rows, std::uint32_t own, std::span<std::uint32_t> lists) const {
    const auto near = neighbours_.of(own);  // first: `own` itself
    const std::vector<float> between = from_centroid(own, near);
    std::vector<std::uint32_t> members(rows.n);
    std::iota(members.begin(), members.end(), 0);
    std::vector<float> distances(rows.n * near.size());
    CentreSearch(centres_).distances(rows, members, near, distances.data());
    for (std::size_t i = 0; i < rows.n; ++i) {
      lists[i] = near[best_of({distances.data() + i * near.size(), near.size()}, between)];
    }
  }

 private:
  [[nodiscard]] std::vector<float> from_centroid(std::uint32_t own,
                                                 std::span<const std::uint32_t> near) const {
    const std::uint32_t dim = centres_.dim();
    std::vector<float> distances(near.size());
    kernels()
        .dense(Similarity::kNegL2Squared, DType::kF32)
        .gather(means_.data() + std::size_t{own} * dim, dim,
                reinterpret_cast<const std::byte*>(means_.data()), dim * sizeof(float), near.data(),
                near.size(), distances.data());
    for (float& distance : distances) distance = -distance;
    return distances;
  }

  [[nodiscard]] std::size_t best_of(std::span<const float> to_row,
                                    std::span<const float> to_own) const {
    const float weight = to_row[0] > 0 ? lambda_ / to_row[0] : 0.0F;
    std::size_t best = 0;
    float least = std::numeric_limits<float>::infinity();
    for (std::size_t i = 1; i < to_row.size(); ++i) {
      const float along = 0.5F * (to_row[0] + to_row[i] - to_own[i]);
      const float loss = to_row[i] + weight * along * along;
      if (best != 0 && !(loss < least)) continue;
      least = loss;
      best = i;
    }
    return best;
  }

  std::span<const float> means_;
  const Centres& centres_;
  CentreNeighbours neighbours_;
  float lambda_;
};

}  // namespace

Result<Clusters> cluster(const RowReader& rows, std::uint32_t n_rows, std::uint32_t dim,
                         const ClusterOptions& options, const BuildContext& context) {
  Clusters clusters{.dim = dim, .centroids = {}, .list_of = {}};
  if (n_rows == 0) return clusters;
  const std::uint32_t wanted =
      options.n_clusters != 0 ? options.n_clusters : (n_rows - 1) / kRowsPerCluster + 1;
  const std::uint32_t n_clusters = std::min(wanted, n_rows);
  const std::uint64_t n_sample =
      std::uint64_t{n_clusters} * std::max(1U, options.sample_per_cluster);
  const auto sample = spread(static_cast<std::uint32_t>(std::min<std::uint64_t>(n_rows, n_sample)),
                             n_rows, options.seed);
  const ByteGrid grid = grid_for(rows, n_rows, dim);
  Resumed trained;
  {
    const ByteMatrix codes = encode_sample(rows, sample, grid, context);
    const auto training = part_of(context, n_rows, 0, kTrainedShare, sample.size());
    QV_TRY(trained, trained_on(codes, n_clusters, options, grid, training));
  }
  clusters.is_carried_over = !trained.list_of.empty();
  clusters.centroids.resize(trained.means.size());
  for (std::size_t first = 0; first < trained.means.size(); first += dim) {
    grid.from_codes(trained.means.data() + first, clusters.centroids.data() + first);
  }
  if (trained.list_of.size() == n_rows) {
    clusters.list_of = std::move(trained.list_of);
  } else {
    QV_TRY(clusters.list_of, assign_codes(rows, n_rows, grid, Centres(trained.means, dim),
                                          part_of(context, n_rows, kTrainedShare, 1)));
  }
  QV_TRY(balance(rows, ListBounds::of(n_rows, n_clusters), context, clusters));
  if (context.progress) context.progress(n_rows);
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
  const auto means = in_codes(grid, clusters.centroids);
  const Centres centres(means, dim);
  const Spilling spilling(means, centres, lambda, context);
  const Members members(clusters.list_of, clusters.n());
  std::vector<std::uint32_t> second(n_rows);
  std::atomic<std::uint64_t> n_done = 0;
  for_each(context, clusters.n(), [&](std::size_t list) {
    if (context.cancel.poll()) return;
    const auto own = members.of(list);
    const ByteMatrix codes = encode_rows(rows, own, grid);
    std::vector<std::uint32_t> chosen(own.size());
    spilling.choose(codes.view(), static_cast<std::uint32_t>(list), chosen);
    for (std::size_t i = 0; i < own.size(); ++i) second[own[i]] = chosen[i];
    const std::uint64_t done = n_done += own.size();
    if (context.progress) context.progress(done);
  });
  QV_TRY(context.cancel.check());
  return second;
}

std::vector<float> mean_of_centroids(std::span<const float> centroids, std::size_t dim) {
  std::vector<double> sums(dim, 0);
  for (std::size_t i = 0; i < centroids.size(); ++i) sums[i % dim] += centroids[i];
  const double n = static_cast<double>(std::max<std::size_t>(1, centroids.size() / dim));
  std::vector<float> mean(dim);
  for (std::size_t d = 0; d < dim; ++d) mean[d] = static_cast<float>(sums[d] / n);
  return mean;
}

}  // namespace quiver::index::dense

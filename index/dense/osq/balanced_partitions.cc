#include "index/dense/osq/balanced_partitions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "encoders/transforms/random_bits.h"
#include "index/dense/lists/kmeans/rows.h"
#include "index/parallel.h"
#include "index/progress.h"
#include "kernels/kernels.h"

namespace quiver::index::dense::osq {
namespace {

constexpr std::uint32_t kDefaultPartitions = 10;
/// Rows a dimension from which the matrix of a partition is small beside its codes.
constexpr std::uint64_t kRowsPerDimension = 80;
constexpr std::uint32_t kSampledRowsPerPartition = 1024;
constexpr std::uint32_t kRowsPerTask = 1024;
/// Rounds in which prices adapt. Rows that are left over are moved one by one.
constexpr int kPriceRounds = 60;

using Sizes = std::vector<std::uint32_t>;

Sizes sizes_of(std::span<const std::uint32_t> partition_of, std::size_t n_partitions) {
  Sizes sizes(n_partitions, 0);
  for (const std::uint32_t p : partition_of) ++sizes[p];
  return sizes;
}

/// Distances from rows to centroids, and the prices of partitions.
class Market {
 public:
  Market(std::span<const float> distances, std::uint32_t n_partitions, const SizeBounds& bounds)
      : distances_(distances), bounds_(bounds), prices_(n_partitions, 0) {}

  std::vector<std::uint32_t> assign() {
    std::vector<std::uint32_t> best;
    std::uint64_t least_excess = std::numeric_limits<std::uint64_t>::max();
    double step = typical_difference();
    std::vector<double> best_prices;
    for (int round = 0; round < kPriceRounds; ++round) {
      auto partition_of = cheapest();
      const Sizes sizes = sizes_of(partition_of, prices_.size());
      const std::uint64_t excess = excess_of(sizes);
      if (excess < least_excess) {
        least_excess = excess;
        best = std::move(partition_of);
        best_prices = prices_;
      } else {
        step *= kStepDecay;
      }
      if (excess == 0) break;
      raise_prices(sizes, step);
    }
    prices_ = std::move(best_prices);
    move_excess(best);
    return best;
  }

 private:
  static constexpr double kStepDecay = 0.8;

  [[nodiscard]] std::size_t n_rows() const { return distances_.size() / prices_.size(); }
  [[nodiscard]] double cost(std::size_t row, std::size_t p) const {
    return distances_[row * prices_.size() + p] + prices_[p];
  }

  /// Mean difference of a row's nearest and farthest partition.
  [[nodiscard]] double typical_difference() const {
    double sum = 0;
    for (std::size_t row = 0; row < n_rows(); ++row) {
      const auto of_row = distances_.subspan(row * prices_.size(), prices_.size());
      const auto [least, most] = std::minmax_element(of_row.begin(), of_row.end());
      sum += double{*most} - *least;
    }
    return sum / static_cast<double>(std::max<std::size_t>(n_rows(), 1));
  }

  [[nodiscard]] std::vector<std::uint32_t> cheapest() const {
    std::vector<std::uint32_t> partition_of(n_rows());
    for (std::size_t row = 0; row < n_rows(); ++row) {
      std::uint32_t best = 0;
      for (std::uint32_t p = 1; p < prices_.size(); ++p) {
        if (cost(row, p) < cost(row, best)) best = p;
      }
      partition_of[row] = best;
    }
    return partition_of;
  }

  /// Rows above and below the bounds.
  [[nodiscard]] std::uint64_t excess_of(const Sizes& sizes) const {
    std::uint64_t excess = 0;
    for (const std::uint32_t size : sizes) {
      if (size > bounds_.max) excess += size - bounds_.max;
      if (size < bounds_.min) excess += bounds_.min - size;
    }
    return excess;
  }

  void raise_prices(const Sizes& sizes, double step) {
    const double usual = static_cast<double>(n_rows()) / static_cast<double>(prices_.size());
    for (std::size_t p = 0; p < prices_.size(); ++p) {
      prices_[p] += step * std::min(sizes[p] / usual - 1, 1.0);
    }
  }

  struct Move {
    double loss = 0;
    std::uint32_t row = 0;
    std::uint32_t to = 0;
  };

  /// For each row that may leave its partition, the cheapest move to one that may take it.
  template <class MayLeave, class MayTake>
  [[nodiscard]] std::vector<Move> moves(std::span<const std::uint32_t> partition_of,
                                        MayLeave may_leave, MayTake may_take) const {
    std::vector<Move> found;
    for (std::uint32_t row = 0; row < partition_of.size(); ++row) {
      if (!may_leave(partition_of[row])) continue;
      Move best{std::numeric_limits<double>::infinity(), row, 0};
      for (std::uint32_t p = 0; p < prices_.size(); ++p) {
        const double loss = cost(row, p) - cost(row, partition_of[row]);
        if (may_take(p) && loss < best.loss) best = {loss, row, p};
      }
      if (best.loss < std::numeric_limits<double>::infinity()) found.push_back(best);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Move& a, const Move& b) { return a.loss < b.loss; });
    return found;
  }

  /// Makes moves in the order of their losses as long as the conditions hold; false if none did.
  template <class MayLeave, class MayTake>
  bool move(std::vector<std::uint32_t>& partition_of, Sizes& sizes, MayLeave may_leave,
            MayTake may_take) const {
    bool moved = false;
    for (const Move& one : moves(partition_of, may_leave, may_take)) {
      if (!may_leave(partition_of[one.row]) || !may_take(one.to)) continue;
      --sizes[partition_of[one.row]];
      ++sizes[one.to];
      partition_of[one.row] = one.to;
      moved = true;
    }
    return moved;
  }

  void move_excess(std::vector<std::uint32_t>& partition_of) const {
    Sizes sizes = sizes_of(partition_of, prices_.size());
    const auto is_over = [&](std::uint32_t p) { return sizes[p] > bounds_.max; };
    const auto is_below_max = [&](std::uint32_t p) { return sizes[p] < bounds_.max; };
    while (move(partition_of, sizes, is_over, is_below_max)) {
    }
    const auto is_above_min = [&](std::uint32_t p) { return sizes[p] > bounds_.min; };
    const auto is_under = [&](std::uint32_t p) { return sizes[p] < bounds_.min; };
    while (move(partition_of, sizes, is_above_min, is_under)) {
    }
  }

  std::span<const float> distances_;
  SizeBounds bounds_;
  std::vector<double> prices_;
};

using Matrix = std::vector<float>;

/// Reads the rows `which`.
Matrix read_rows(const ScaledRows& rows, std::span<const std::uint32_t> which) {
  Matrix matrix(which.size() * rows.dim());
  for (std::size_t i = 0; i < which.size(); ++i) {
    rows.read(which[i], matrix.data() + i * rows.dim());
  }
  return matrix;
}

/// Squared distances of one row to all centroids, `[n]`.
void distances_to(const float* row, std::span<const float> centroids, std::uint32_t dim,
                  float* out) {
  const std::size_t n = centroids.size() / dim;
  kernels()
      .dense(Similarity::kNegL2Squared, RowType::kF32)
      .many(row, dim, reinterpret_cast<const std::byte*>(centroids.data()), dim * sizeof(float), n,
            out);
  for (std::size_t p = 0; p < n; ++p) out[p] = -out[p];
}

/// Distances of `n` rows, `[n, n_partitions]`, in parallel. `row_at(i, buffer)` returns a row.
template <class RowAt>
Result<Matrix> all_distances(std::uint32_t n, std::span<const float> centroids, std::uint32_t dim,
                             const BuildContext& context, RowAt row_at) {
  const std::size_t n_partitions = centroids.size() / dim;
  Matrix distances(n * n_partitions);
  const std::uint32_t n_tasks = (n + kRowsPerTask - 1) / kRowsPerTask;
  for_each(context, n_tasks, [&](std::size_t task) {
    if (!context.cancel.check()) return;
    std::vector<float> buffer(dim);
    const auto first = static_cast<std::uint32_t>(task * kRowsPerTask);
    for (std::uint32_t i = first; i < std::min(first + kRowsPerTask, n); ++i) {
      distances_to(row_at(i, buffer.data()), centroids, dim, distances.data() + i * n_partitions);
    }
  });
  QV_TRY(context.cancel.check());
  return distances;
}

/// First centroids by k-means++ (Arthur and Vassilvitskii, SODA 2007).
Matrix first_centroids(std::span<const float> sample, std::uint32_t dim, std::uint32_t n,
                       std::uint64_t seed) {
  const std::size_t n_rows = sample.size() / dim;
  Matrix centroids;
  std::vector<double> nearest(n_rows, std::numeric_limits<double>::infinity());
  for (std::uint32_t c = 0; c < n; ++c) {
    const double unit = encoders::random_unit(seed, c);
    auto chosen = static_cast<std::size_t>(unit * static_cast<double>(n_rows));
    const double total = c == 0 ? 0 : std::accumulate(nearest.begin(), nearest.end(), 0.0);
    if (total > 0) {
      double rest = unit * total;
      for (chosen = 0; chosen + 1 < n_rows && rest >= nearest[chosen]; ++chosen) {
        rest -= nearest[chosen];
      }
    }
    const std::span<const float> row = sample.subspan(chosen * dim, dim);
    centroids.insert(centroids.end(), row.begin(), row.end());
    for (std::size_t i = 0; i < n_rows; ++i) {
      float distance = 0;
      distances_to(sample.data() + i * dim, row, dim, &distance);
      nearest[i] = std::min(nearest[i], double{distance});
    }
  }
  return centroids;
}

/// Means of the partitions; an empty one keeps its centroid.
Matrix means_of(std::span<const float> sample, std::uint32_t dim,
                std::span<const std::uint32_t> partition_of, const Matrix& former) {
  const std::size_t n_partitions = former.size() / dim;
  std::vector<double> sums(former.size(), 0);
  const Sizes sizes = sizes_of(partition_of, n_partitions);
  for (std::size_t i = 0; i < partition_of.size(); ++i) {
    double* const sum = sums.data() + std::size_t{partition_of[i]} * dim;
    for (std::uint32_t d = 0; d < dim; ++d) sum[d] += sample[i * dim + d];
  }
  Matrix means = former;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const std::uint32_t size = sizes[i / dim];
    if (size != 0) means[i] = static_cast<float>(sums[i] / size);
  }
  return means;
}

double squared_difference(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

/// Mean variance of a dimension.
double variance_of(std::span<const float> sample, std::uint32_t dim) {
  std::vector<double> sums(dim, 0);
  double squares = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    sums[i % dim] += sample[i];
    squares += double{sample[i]} * sample[i];
  }
  const double n = static_cast<double>(sample.size()) / dim;
  double of_means = 0;
  for (const double sum : sums) of_means += sum / n * (sum / n);
  return std::max(0.0, squares / n - of_means) / dim;
}

Result<Matrix> train_centroids(const ScaledRows& rows, std::uint32_t n_partitions,
                               const OsqBuildParams& params, const BuildContext& context) {
  const std::uint32_t dim = rows.dim();
  const std::uint32_t n = std::min(rows.n(), n_partitions * kSampledRowsPerPartition);
  const Matrix sample = read_rows(rows, spread(n, rows.n(), context.seed));
  const auto bounds = SizeBounds::of(n, n_partitions, params.balance);
  const auto row_at = [&](std::uint32_t i, float* /*buffer*/) { return sample.data() + i * dim; };
  const double enough = params.tolerance * variance_of(sample, dim);
  Matrix centroids = first_centroids(sample, dim, n_partitions, context.seed);
  for (std::uint32_t round = 0; round < params.iterations; ++round) {
    QV_TRY(const Matrix distances, all_distances(n, centroids, dim, context, row_at));
    Matrix moved =
        means_of(sample, dim, assign_balanced(distances, n_partitions, bounds), centroids);
    const double change = squared_difference(moved, centroids);
    centroids = std::move(moved);
    if (change <= enough) break;
  }
  return centroids;
}

}  // namespace

SizeBounds SizeBounds::of(std::uint32_t n, std::uint32_t n_partitions, double balance) {
  const double usual = static_cast<double>(n) / n_partitions;
  return {static_cast<std::uint32_t>(usual * (1 - balance)),
          static_cast<std::uint32_t>(std::ceil(usual * (1 + balance)))};
}

std::vector<std::uint32_t> assign_balanced(std::span<const float> distances,
                                           std::uint32_t n_partitions, const SizeBounds& bounds) {
  return Market(distances, n_partitions, bounds).assign();
}

std::uint32_t n_partitions_for(std::uint32_t n, std::uint32_t dim, const OsqBuildParams& params) {
  const auto large_enough = static_cast<std::uint32_t>(n / (kRowsPerDimension * dim));
  const std::uint32_t usual = std::min(kDefaultPartitions, large_enough);
  const std::uint32_t wanted = params.partitions != 0 ? params.partitions : usual;
  return std::clamp(wanted, 1U, std::max(n, 1U));
}

Result<std::vector<std::uint32_t>> make_partitions(const ScaledRows& rows,
                                                   const OsqBuildParams& params,
                                                   const BuildContext& context) {
  const std::uint32_t n_partitions = n_partitions_for(rows.n(), rows.dim(), params);
  if (n_partitions == 1) return std::vector<std::uint32_t>(rows.n(), 0);
  QV_TRY(const Matrix centroids, train_centroids(rows, n_partitions, params, context));
  const auto row_at = [&](std::uint32_t i, float* buffer) {
    rows.read(i, buffer);
    return buffer;
  };
  QV_TRY(const Matrix distances, all_distances(rows.n(), centroids, rows.dim(), context, row_at));
  return assign_balanced(distances, n_partitions,
                         SizeBounds::of(rows.n(), n_partitions, params.balance));
}

}  // namespace quiver::index::dense::osq

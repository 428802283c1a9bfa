#include "index/ivf/clustering.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <random>

#include "index/ivf/kmeans_balance.h"
#include "kernels/kernels.h"

namespace quiver::index::ivf {
namespace {

constexpr std::uint32_t kBlockRows = 64;
constexpr std::uint32_t kRowsPerCluster = 256;

const std::byte* bytes(const float* values) { return reinterpret_cast<const std::byte*>(values); }

/// Scores of rows against centroids: `c . x - |c|^2 / 2`, the greater the nearer.
class Scorer {
 public:
  Scorer(std::span<const float> centroids, std::uint32_t dim)
      : centroids_(centroids), dim_(dim), half_norms_(centroids.size() / dim) {
    for (std::size_t c = 0; c < half_norms_.size(); ++c) {
      const float* centroid = centroids.data() + c * dim;
      half_norms_[c] = 0.5f * kernel().one(centroid, dim, bytes(centroid));
    }
  }
  [[nodiscard]] std::size_t n() const { return half_norms_.size(); }

  /// `rows` is `[n_rows, dim]`, `scores` `[n_rows, n()]`.
  void score(const float* rows, std::size_t n_rows, float* scores) const {
    kernel().tile({rows, dim_, n_rows}, dim_, bytes(centroids_.data()), dim_ * sizeof(float), n(),
                  {scores, n()});
    for (std::size_t i = 0; i < n_rows; ++i) {
      for (std::size_t c = 0; c < n(); ++c) scores[i * n() + c] -= half_norms_[c];
    }
  }

 private:
  [[nodiscard]] static const DenseKernels& kernel() {
    return kernels().dense(Similarity::kDot, DType::kF32);
  }

  std::span<const float> centroids_;
  std::uint32_t dim_;
  std::vector<float> half_norms_;
};

std::uint32_t greatest(const float* scores, std::size_t n) {
  return static_cast<std::uint32_t>(std::max_element(scores, scores + n) - scores);
}

struct Shape {
  std::uint32_t n_rows;
  std::uint32_t dim;
};

/// `fn(first row, [n, dim] rows, n)` for blocks of rows, on all threads; tells of progress.
template <class F>
Result<> for_blocks(const RowReader& rows, const Shape& shape, const BuildContext& context,
                    F&& fn) {
  std::atomic<std::uint64_t> n_done = 0;
  const std::size_t n_blocks = (std::size_t{shape.n_rows} + kBlockRows - 1) / kBlockRows;
  for_each(context, n_blocks, [&](std::size_t block) {
    if (context.cancel.poll()) return;
    const auto first = static_cast<std::uint32_t>(block * kBlockRows);
    const std::uint32_t n = std::min(kBlockRows, shape.n_rows - first);
    std::vector<float> values(std::size_t{n} * shape.dim);
    for (std::uint32_t i = 0; i < n; ++i) {
      rows(first + i, values.data() + std::size_t{i} * shape.dim);
    }
    fn(first, values.data(), n);
    n_done += n;
    if (context.progress) context.progress(n_done);
  });
  return context.cancel.check();
}

/// `n` of [0, n_of), ascending: one from each of as many equal parts.
std::vector<std::uint32_t> spread(std::uint32_t n, std::uint32_t n_of, std::mt19937_64& random) {
  std::vector<std::uint32_t> chosen(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t first = i * n_of / n;
    chosen[i] = static_cast<std::uint32_t>(first + random() % ((i + 1) * n_of / n - first));
  }
  return chosen;
}

/// Lloyd's algorithm over a sample of the rows.
class Training {
 public:
  Training(const RowReader& rows, const Shape& shape, std::uint32_t n_clusters,
           const ClusterOptions& options, const BuildContext& context)
      : dim_(shape.dim), n_clusters_(n_clusters), context_(context), random_(options.seed) {
    const std::uint64_t wanted = std::uint64_t{n_clusters} * options.sample_per_cluster;
    n_sample_ = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(shape.n_rows, std::max<std::uint64_t>(wanted, n_clusters)));
    sample_.resize(std::size_t{n_sample_} * dim_);
    const std::vector<std::uint32_t> chosen = spread(n_sample_, shape.n_rows, random_);
    for_each(context, n_sample_, [&](std::size_t i) { rows(chosen[i], row(i)); });
    for (const std::uint32_t i : spread(n_clusters, n_sample_, random_)) {
      centroids_.insert(centroids_.end(), row(i), row(i) + dim_);
    }
  }

  Result<std::vector<float>> run(std::uint32_t iterations) {
    const BuildContext quiet{context_.executor, context_.cancel, 0, nullptr};
    const RowReader reader = [&](std::uint32_t i, float* out) {
      std::copy(row(i), row(i) + dim_, out);
    };
    std::vector<std::uint32_t> last;
    for (std::uint32_t i = 0; i < iterations; ++i) {
      QV_TRY(auto lists, assign(reader, n_sample_, dim_, centroids_, quiet));
      if (lists == last) break;
      move_centroids(lists);
      last = std::move(lists);
    }
    return std::move(centroids_);
  }

 private:
  float* row(std::size_t i) { return sample_.data() + i * dim_; }

  void move_centroids(const std::vector<std::uint32_t>& lists) {
    std::vector<std::vector<std::uint32_t>> members(n_clusters_);
    for (std::uint32_t i = 0; i < n_sample_; ++i) members[lists[i]].push_back(i);
    for_each(context_, n_clusters_, [&](std::size_t c) { move_centroid(c, members[c]); });
    fill_empty(members);
  }

  void move_centroid(std::size_t c, const std::vector<std::uint32_t>& members) {
    std::vector<double> sums(dim_);
    for (const std::uint32_t i : members) {
      for (std::size_t d = 0; d < dim_; ++d) sums[d] += row(i)[d];
    }
    if (members.empty()) return;
    for (std::size_t d = 0; d < dim_; ++d) {
      centroids_[c * dim_ + d] = static_cast<float>(sums[d] / static_cast<double>(members.size()));
    }
  }

  /// An empty cluster takes a row of the largest one, which then counts as half as large.
  void fill_empty(const std::vector<std::vector<std::uint32_t>>& members) {
    std::vector<std::size_t> sizes;
    for (const auto& list : members) sizes.push_back(list.size());
    for (std::size_t c = 0; c < n_clusters_; ++c) {
      if (!members[c].empty()) continue;
      const auto largest =
          static_cast<std::size_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
      sizes[largest] /= 2;
      const std::uint32_t i = members[largest][random_() % members[largest].size()];
      std::copy(row(i), row(i) + dim_, centroids_.begin() + static_cast<std::ptrdiff_t>(c * dim_));
    }
  }

  std::uint32_t dim_;
  std::uint32_t n_clusters_;
  const BuildContext& context_;
  std::mt19937_64 random_;
  std::uint32_t n_sample_ = 0;
  std::vector<float> sample_;     // [n_sample_, dim_]
  std::vector<float> centroids_;  // [n_clusters_, dim_]
};

}  // namespace

Result<std::vector<std::uint32_t>> assign(const RowReader& rows, std::uint32_t n_rows,
                                          std::uint32_t dim, std::span<const float> centroids,
                                          const BuildContext& context) {
  const Scorer scorer(centroids, dim);
  std::vector<std::uint32_t> lists(n_rows);
  QV_TRY(for_blocks(rows, {n_rows, dim}, context,
                    [&](std::uint32_t first, const float* values, std::uint32_t n) {
                      std::vector<float> scores(n * scorer.n());
                      scorer.score(values, n, scores.data());
                      for (std::size_t i = 0; i < n; ++i) {
                        lists[first + i] = greatest(scores.data() + i * scorer.n(), scorer.n());
                      }
                    }));
  return lists;
}

Result<Clusters> cluster(const RowReader& rows, std::uint32_t n_rows, std::uint32_t dim,
                         const ClusterOptions& options, const BuildContext& context) {
  Clusters clusters{dim, {}, {}};
  if (n_rows == 0) return clusters;
  const std::uint32_t wanted =
      options.n_clusters != 0 ? options.n_clusters : (n_rows - 1) / kRowsPerCluster + 1;
  const std::uint32_t n_clusters = std::min(wanted, n_rows);
  Training training(rows, {n_rows, dim}, n_clusters, options, context);
  QV_TRY(clusters.centroids, training.run(options.iterations));
  QV_TRY(clusters.list_of, assign(rows, n_rows, dim, clusters.centroids, context));
  QV_TRY(balance(rows, ListBounds::of(n_rows, n_clusters), context, clusters));
  return clusters;
}

Result<std::vector<std::uint32_t>> second_lists(const RowReader& rows, std::uint32_t n_rows,
                                                const Clusters& clusters, float lambda,
                                                const BuildContext& context) {
  const std::uint32_t dim = clusters.dim;
  const Scorer scorer(clusters.centroids, dim);
  std::vector<std::uint32_t> lists(n_rows);
  const auto choose = [&](std::uint32_t first, const float* values, std::uint32_t n) {
    // With s(c) = c . x - |c|^2 / 2: |x - c|^2 = |x|^2 - 2 s(c). The component of r' = x - c along
    // r = x - a is (|r|^2 + (a - c) . r) / |r|; c . r comes of a second score, of r itself.
    std::vector<float> residuals(std::size_t{n} * dim);
    std::vector<float> near(n * scorer.n());
    std::vector<float> along(n * scorer.n());
    for (std::size_t i = 0; i < n; ++i) {
      const float* a = clusters.centroids.data() + std::size_t{clusters.list_of[first + i]} * dim;
      for (std::size_t d = 0; d < dim; ++d) residuals[i * dim + d] = values[i * dim + d] - a[d];
    }
    scorer.score(values, n, near.data());
    const DenseKernels& dot = kernels().dense(Similarity::kDot, DType::kF32);
    dot.tile({residuals.data(), dim, n}, dim, bytes(clusters.centroids.data()), dim * sizeof(float),
             scorer.n(), {along.data(), scorer.n()});
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t own = clusters.list_of[first + i];
      const float* r = residuals.data() + i * dim;
      const float r_squared = dot.one(r, dim, bytes(r));
      const float* c_dot_r = along.data() + i * scorer.n();
      float least = std::numeric_limits<float>::infinity();
      lists[first + i] = own;
      for (std::uint32_t c = 0; c < scorer.n(); ++c) {
        if (c == own) continue;
        const float r_dot = r_squared + c_dot_r[own] - c_dot_r[c];
        const float loss = (r_squared > 0 ? lambda * r_dot * r_dot / r_squared : 0.0f) -
                           2 * near[i * scorer.n() + c];
        if (loss < least) {
          least = loss;
          lists[first + i] = c;
        }
      }
    }
  };
  QV_TRY(for_blocks(rows, {n_rows, dim}, context, choose));
  return lists;
}

}  // namespace quiver::index::ivf

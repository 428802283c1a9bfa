// Bounds on list sizes, enforced after the last assignment.
#include <algorithm>
#include <cmath>
#include <utility>

#include "index/dense/lists/clustering.h"
#include "index/progress.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {
namespace {

using Rows = std::vector<std::uint32_t>;

std::vector<Rows> members_of(const Clusters& clusters) {
  std::vector<Rows> lists(clusters.n());
  for (std::uint32_t row = 0; row < clusters.list_of.size(); ++row) {
    lists[clusters.list_of[row]].push_back(row);
  }
  return lists;
}

/// Drops the centroids of lists with fewer than `min` rows. Returns the new number of each list, or
/// kGone.
constexpr std::uint32_t kGone = ~std::uint32_t{0};
std::vector<std::uint32_t> drop_small(const std::vector<Rows>& lists, std::uint32_t min,
                                      Clusters& clusters) {
  std::vector<std::uint32_t> new_number(lists.size(), kGone);
  std::vector<float> kept;
  std::uint32_t n = 0;
  for (std::size_t list = 0; list < lists.size(); ++list) {
    if (lists[list].size() < min) continue;
    const auto first =
        clusters.centroids.begin() + static_cast<std::ptrdiff_t>(list * clusters.dim);
    kept.insert(kept.end(), first, first + clusters.dim);
    new_number[list] = n++;
  }
  clusters.centroids = std::move(kept);
  return new_number;
}

Result<> dissolve_small(const RowReader& rows, std::uint32_t min, const BuildContext& context,
                        Clusters& clusters) {
  const std::vector<std::uint32_t> new_number = drop_small(members_of(clusters), min, clusters);
  std::vector<std::uint32_t> homeless;
  for (std::uint32_t row = 0; row < clusters.list_of.size(); ++row) {
    clusters.list_of[row] = new_number[clusters.list_of[row]];
    if (clusters.list_of[row] == kGone) homeless.push_back(row);
  }
  QV_TRY(const auto homes, assign([&](std::uint32_t i, float* out) { rows(homeless[i], out); },
                                  static_cast<std::uint32_t>(homeless.size()), clusters.dim,
                                  clusters.centroids, quiet(context)));
  for (std::size_t i = 0; i < homeless.size(); ++i) clusters.list_of[homeless[i]] = homes[i];
  return {};
}

/// Splits rows by 2-means: tells on which side of the boundary a row lies.
class TwoMeans {
 public:
  TwoMeans(const RowReader& rows, std::uint32_t dim, const Rows& members)
      : rows_(rows), dim_(dim), means_{std::vector<float>(dim), std::vector<float>(dim)} {
    read_sample(members);
    start();
    for (int round = 0; round < kRounds; ++round) improve();
    separate();
  }

  /// Negative for rows nearer to the first mean; 0 if values overflow.
  [[nodiscard]] float side(std::uint32_t row, std::vector<float>& buffer) const {
    rows_(row, buffer.data());
    const float side = dot(direction_.data(), buffer.data()) - offset_;
    return std::isnan(side) ? 0.0f : side;
  }

 private:
  static constexpr std::size_t kSampledRows = 512;
  static constexpr int kRounds = 6;

  [[nodiscard]] float dot(const float* a, const float* b) const {
    return kernels()
        .dense(Similarity::kDot, DType::kF32)
        .one(a, dim_, reinterpret_cast<const std::byte*>(b));
  }
  [[nodiscard]] const float* sample_row(std::size_t i) const { return sample_.data() + i * dim_; }

  void read_sample(const Rows& members) {
    n_sample_ = std::min(kSampledRows, members.size());
    sample_.resize(n_sample_ * dim_);
    for (std::size_t i = 0; i < n_sample_; ++i) {
      rows_(members[i * members.size() / n_sample_], sample_.data() + i * dim_);
    }
  }

  [[nodiscard]] std::size_t farthest_from(std::size_t from) const {
    std::vector<float> nearness(n_sample_);
    kernels()
        .dense(Similarity::kNegL2Squared, DType::kF32)
        .many(sample_row(from), dim_, reinterpret_cast<const std::byte*>(sample_.data()),
              dim_ * sizeof(float), n_sample_, nearness.data());
    return static_cast<std::size_t>(std::min_element(nearness.begin(), nearness.end()) -
                                    nearness.begin());
  }

  /// Starts from two rows that are far apart.
  void start() {
    const std::size_t a = farthest_from(0);
    const std::size_t b = farthest_from(a);
    means_[0].assign(sample_row(a), sample_row(a) + dim_);
    means_[1].assign(sample_row(b), sample_row(b) + dim_);
  }

  void separate() {
    direction_.resize(dim_);
    for (std::size_t d = 0; d < dim_; ++d) direction_[d] = means_[1][d] - means_[0][d];
    offset_ = 0.5f *
              (dot(direction_.data(), means_[0].data()) + dot(direction_.data(), means_[1].data()));
  }

  void improve() {
    separate();
    std::vector<double> sums[2] = {std::vector<double>(dim_), std::vector<double>(dim_)};
    std::size_t n[2] = {0, 0};
    for (std::size_t i = 0; i < n_sample_; ++i) {
      const int s = dot(direction_.data(), sample_row(i)) < offset_ ? 0 : 1;
      ++n[s];
      for (std::size_t d = 0; d < dim_; ++d) sums[s][d] += sample_row(i)[d];
    }
    for (int s = 0; s < 2; ++s) {
      if (n[s] == 0) continue;
      for (std::size_t d = 0; d < dim_; ++d) {
        means_[s][d] = static_cast<float>(sums[s][d] / static_cast<double>(n[s]));
      }
    }
  }

  const RowReader& rows_;
  std::size_t n_sample_ = 0;
  std::uint32_t dim_;
  std::vector<float> sample_;     // [n_sample_, dim_]
  std::vector<float> means_[2];   // [dim_]
  std::vector<float> direction_;  // from the first mean to the second
  float offset_ = 0;
};

/// Splits `members` between their two means and returns the second part. Each part has at least a
/// third of the rows, so equal rows are split, too.
Rows split_off(const RowReader& rows, std::uint32_t dim, Rows& members) {
  const TwoMeans means(rows, dim, members);
  std::vector<std::pair<float, std::uint32_t>> sides;
  std::vector<float> buffer(dim);
  for (const std::uint32_t row : members) sides.emplace_back(means.side(row, buffer), row);
  std::sort(sides.begin(), sides.end());
  const auto middle = std::lower_bound(sides.begin(), sides.end(), std::pair(0.0f, 0U));
  const std::size_t third = (sides.size() + 2) / 3;
  const std::size_t cut =
      std::clamp(static_cast<std::size_t>(middle - sides.begin()), third, sides.size() - third);
  for (std::size_t i = 0; i < sides.size(); ++i) members[i] = sides[i].second;
  Rows second(members.begin() + static_cast<std::ptrdiff_t>(cut), members.end());
  members.resize(cut);
  std::sort(members.begin(), members.end());
  std::sort(second.begin(), second.end());
  return second;
}

/// Splits `members` into parts of at most `max` rows.
std::vector<Rows> split(const RowReader& rows, std::uint32_t dim, std::uint32_t max, Rows members) {
  std::vector<Rows> parts;
  parts.push_back(std::move(members));
  for (std::size_t i = 0; i < parts.size();) {
    if (parts[i].size() > max) {
      Rows second = split_off(rows, dim, parts[i]);
      parts.push_back(std::move(second));
    } else {
      ++i;
    }
  }
  return parts;
}

std::vector<float> mean_of(const RowReader& rows, std::uint32_t dim, const Rows& members) {
  std::vector<double> sums(dim);
  std::vector<float> row(dim);
  for (const std::uint32_t member : members) {
    rows(member, row.data());
    for (std::size_t d = 0; d < dim; ++d) sums[d] += row[d];
  }
  for (std::size_t d = 0; d < dim; ++d) {
    row[d] = static_cast<float>(sums[d] / static_cast<double>(members.size()));
  }
  return row;
}

/// The first part keeps the list's number; the others get new numbers at the end.
void take_parts(const std::vector<Rows>& parts, const std::vector<std::vector<float>>& means,
                std::uint32_t list, Clusters& clusters) {
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::vector<float>& mean = means[part];
    if (part == 0) {
      std::copy(mean.begin(), mean.end(),
                clusters.centroids.begin() + static_cast<std::ptrdiff_t>(list) * clusters.dim);
    } else {
      for (const std::uint32_t row : parts[part]) clusters.list_of[row] = clusters.n();
      clusters.centroids.insert(clusters.centroids.end(), mean.begin(), mean.end());
    }
  }
}

Result<> split_large(const RowReader& rows, std::uint32_t max, const BuildContext& context,
                     Clusters& clusters) {
  std::vector<Rows> lists = members_of(clusters);
  std::vector<std::uint32_t> large;
  for (std::uint32_t list = 0; list < lists.size(); ++list) {
    if (lists[list].size() > max) large.push_back(list);
  }
  std::vector<std::vector<Rows>> parts(large.size());
  std::vector<std::vector<std::vector<float>>> means(large.size());
  for_each(context, large.size(), [&](std::size_t i) {
    if (context.cancel.poll()) return;
    parts[i] = split(rows, clusters.dim, max, std::move(lists[large[i]]));
    for (const Rows& part : parts[i]) means[i].push_back(mean_of(rows, clusters.dim, part));
  });
  QV_TRY(context.cancel.check());
  for (std::size_t i = 0; i < large.size(); ++i) take_parts(parts[i], means[i], large[i], clusters);
  return {};
}

}  // namespace

ListBounds ListBounds::of(std::uint32_t n_rows, std::uint32_t n_clusters) {
  const std::uint64_t mean = std::max(1U, n_rows / std::max(1U, n_clusters));
  return {static_cast<std::uint32_t>(std::max<std::uint64_t>(1, mean / 4)),
          static_cast<std::uint32_t>(std::min<std::uint64_t>(3 * mean, ~std::uint32_t{0}))};
}

Result<> balance(const RowReader& rows, const ListBounds& bounds, const BuildContext& context,
                 Clusters& clusters) {
  QV_TRY(dissolve_small(rows, bounds.min, context, clusters));
  return split_large(rows, bounds.max, context, clusters);
}

}  // namespace quiver::index::dense

#include "encoders/features/translation.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "encoders/features/matrices.h"
#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

using Eigen::Index;
using Doubles = Eigen::MatrixXd;

/// Penalty: of all those from .003 to .03, recall was the same.
constexpr double kRidge = 0.01;
/// Added to the diagonal, as a share of its mean, so that equal anchors do no harm.
constexpr double kLeastDiagonal = 1e-9;
constexpr double kDiagonalGrowth = 10;
/// Pairs whose products are added up in single precision.
constexpr std::size_t kPairsPerSum = 1024;
/// Lengths that differ by less than this share are equal.
constexpr double kEqualLengths = 0.01;

double square_of(const float* row, std::size_t dim) {
  double sum = 0;
  for (std::size_t d = 0; d < dim; ++d) sum += double{row[d]} * row[d];
  return sum;
}

std::vector<double> mean_of(std::span<const float> rows, std::size_t n) {
  const std::size_t dim = rows.size() / n;
  std::vector<double> mean(dim);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t d = 0; d < dim; ++d) mean[d] += rows[i * dim + d];
  }
  for (double& value : mean) value /= static_cast<double>(n);
  return mean;
}

/// Mean squared distance of rows from their mean.
double variance_of(std::span<const float> rows, std::size_t n) {
  const auto mean = mean_of(rows, n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t d = 0; d < mean.size(); ++d) {
      const double difference = rows[i * mean.size() + d] - mean[d];
      sum += difference * difference;
    }
  }
  return sum / static_cast<double>(n);
}

/// The length that all rows have; 0 if they differ.
float common_length(std::span<const float> rows, std::size_t n) {
  const std::size_t dim = rows.size() / n;
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double square = square_of(rows.data() + i * dim, dim);
    sum += std::sqrt(square) / static_cast<double>(n);
    squares += square / static_cast<double>(n);
  }
  const double deviation = std::sqrt(std::max(0.0, squares - sum * sum));
  return deviation <= kEqualLengths * sum ? static_cast<float>(sum) : 0.0F;
}

/// Solves `matrix` x = `right` for a symmetric matrix that is positive but for rounding.
Doubles solved(Doubles matrix, const Doubles& right) {
  double added = kLeastDiagonal * matrix.diagonal().mean();
  matrix.diagonal().array() += added;
  while (true) {
    const Eigen::LLT<Doubles> factors(matrix);
    if (factors.info() == Eigen::Success || !std::isfinite(added)) return factors.solve(right);
    matrix.diagonal().array() += (kDiagonalGrowth - 1) * added;
    added *= kDiagonalGrowth;
  }
}

}  // namespace

void Translation::set_means(std::span<const float> from, std::span<const float> to, std::size_t n) {
  width_ = static_cast<float>(2 * variance_of(from, n));
  length_ = common_length(to, n);
  const auto mean = mean_of(to, n);
  mean_.assign(mean.begin(), mean.end());
  anchors_.assign(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(n_anchors_ * from_dim_));
  for (std::size_t a = 0; a < n_anchors_; ++a) {
    squares_.push_back(static_cast<float>(square_of(anchors_.data() + a * from_dim_, from_dim_)));
  }
  usual_.assign(n_anchors_, 0);
}

std::vector<float> Translation::likenesses(std::span<const float> rows, std::size_t n) const {
  const RowMajor dots = products(rows, n, anchors_, n_anchors_);
  std::vector<float> out(n * n_anchors_);
  for (std::size_t i = 0; i < n; ++i) {
    const auto square = static_cast<float>(square_of(rows.data() + i * from_dim_, from_dim_));
    for (std::size_t a = 0; a < n_anchors_; ++a) {
      const std::size_t at = i * n_anchors_ + a;
      const float distance = std::max(0.0F, square + squares_[a] - 2 * dots.data()[at]);
      out[at] = std::exp(-distance / width_) - usual_[a];
    }
  }
  return out;
}

Result<Translation> Translation::fit(std::span<const float> from, std::uint32_t from_dim,
                                     std::span<const float> to, std::uint32_t to_dim,
                                     std::size_t n_anchors, const Cancel& cancel) {
  const std::size_t n = from.size() / from_dim;
  if (n < kMinPairs) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} pairs of vectors, at least {} are wanted", n, kMinPairs));
  }
  Translation out;
  out.from_dim_ = from_dim;
  out.to_dim_ = to_dim;
  out.n_anchors_ = std::min({n_anchors, n, kMaxAnchors});
  out.set_means(from, to, n);
  if (!(out.width_ > 0)) return fail(Code::kInvalidArgument, "all vectors are equal");

  const std::size_t m = out.n_anchors_;
  const auto rows = static_cast<Index>(m);
  // The mean likeness is that of the anchors: near enough, and known before the first block.
  const auto of_anchors = out.likenesses(out.anchors_, m);
  Doubles gram = Eigen::Map<const RowMajor>(of_anchors.data(), rows, rows).cast<double>() * kRidge;
  const auto usual = mean_of(of_anchors, m);
  out.usual_.assign(usual.begin(), usual.end());

  // The intercept: a free column of ones, of which the centred sums take care.
  Doubles right = Doubles::Zero(rows, to_dim);
  Eigen::VectorXd sums = Eigen::VectorXd::Zero(rows);
  for (std::size_t first = 0; first < n; first += kPairsPerSum) {
    QV_TRY(cancel.check());
    const std::size_t count = std::min(kPairsPerSum, n - first);
    const auto block = out.likenesses(from.subspan(first * from_dim, count * from_dim), count);
    const auto columns = transposed(block, count);  // [m, count]
    RowMajor pairs = RowMajor::Zero(rows, rows);
    add_products_of_pairs(columns, m, pairs);
    gram.triangularView<Eigen::Lower>() += pairs.cast<double>();
    std::vector<float> centred(count * to_dim);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t d = 0; d < to_dim; ++d) {
        centred[i * to_dim + d] = to[(first + i) * to_dim + d] - out.mean_[d];
      }
    }
    const auto targets = transposed(centred, count);  // [to_dim, count]
    right += products(columns, m, targets, to_dim).cast<double>();
    for (Index a = 0; a < rows; ++a) {
      for (std::size_t i = 0; i < count; ++i) {
        sums[a] += columns[static_cast<std::size_t>(a) * count + i];
      }
    }
  }
  QV_TRY(cancel.check());
  gram.triangularView<Eigen::Lower>() -= sums * sums.transpose() / static_cast<double>(n);
  const Doubles weights = solved(std::move(gram), right);
  out.weights_.resize(std::size_t{to_dim} * m);
  for (std::uint32_t d = 0; d < to_dim; ++d) {
    double intercept = 0;
    for (Index a = 0; a < rows; ++a) {
      out.weights_[d * m + static_cast<std::size_t>(a)] = static_cast<float>(weights(a, d));
      intercept += weights(a, d) * sums[a] / static_cast<double>(n);
    }
    out.mean_[d] -= static_cast<float>(intercept);
  }
  return out;
}

void Translation::apply(std::span<const float> from, std::size_t n, std::span<float> out) const {
  if (n == 0) return;
  const auto likeness = likenesses(from, n);
  const RowMajor estimates = products(likeness, n, weights_, to_dim_);
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = out.subspan(i * to_dim_, to_dim_);
    for (std::size_t d = 0; d < to_dim_; ++d) {
      row[d] = mean_[d] + estimates.data()[i * to_dim_ + d];
    }
    if (length_ == 0) continue;
    const double length = std::sqrt(square_of(row.data(), to_dim_));
    if (!(length > 0)) continue;
    for (float& value : row) value *= static_cast<float>(length_ / length);
  }
}

}  // namespace quiver::encoders

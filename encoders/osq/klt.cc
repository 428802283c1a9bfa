#include "encoders/osq/klt.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "encoders/transforms/pca.h"
#include "kernels/kernels.h"

namespace quiver::encoders::osq {
namespace {

/// Directions with less than this share of the first one's variance are rounding errors.
constexpr double kMinVarianceShare = 1e-9;

/// True if a direction's variance is worth keeping.
bool is_kept(double variance, double largest) {
  return variance > 0 && variance >= kMinVarianceShare * largest;
}

Result<Klt> from_covariances(std::span<const float> rows, std::uint32_t dim) {
  QV_TRY(const Pca pca, Pca::train(rows, dim));
  Klt klt{dim, {pca.mean().begin(), pca.mean().end()}, {}, {}};
  for (const float variance : pca.variances()) {
    if (!is_kept(variance, pca.variances()[0])) break;
    klt.variances.push_back(variance);
  }
  const auto kept = pca.directions().first(std::size_t{klt.n_out()} * dim);
  klt.directions.assign(kept.begin(), kept.end());
  return klt;
}

/// Makes the largest coordinate positive, as `Pca` does.
void append_direction(const Eigen::VectorXd& direction, Klt& klt) {
  Eigen::Index largest = 0;
  direction.cwiseAbs().maxCoeff(&largest);
  const double sign = direction[largest] < 0 ? -1 : 1;
  for (const double value : direction) klt.directions.push_back(static_cast<float>(sign * value));
}

/// From the products of the rows with each other, whose matrix is smaller than the covariances'.
Result<Klt> from_products(std::span<const float> rows, std::uint32_t dim) {
  using RowMap =
      Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
  const RowMap matrix(rows.data(), static_cast<Eigen::Index>(rows.size() / dim), dim);
  const Eigen::VectorXf mean = matrix.cast<double>().colwise().mean().cast<float>().transpose();
  const Eigen::MatrixXd centred = (matrix.rowwise() - mean.transpose()).cast<double>();
  const auto n = static_cast<double>(matrix.rows());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(centred * centred.transpose() / n);
  if (solver.info() != Eigen::Success) {
    return fail(Code::kInvalidArgument, "KLT: the rows' products have no eigenvectors in f64");
  }
  Klt klt{dim, {mean.begin(), mean.end()}, {}, {}};
  const auto& values = solver.eigenvalues();  // ascending
  const auto n_most = static_cast<std::uint32_t>(std::min<std::size_t>(matrix.rows() - 1, dim));
  for (Eigen::Index i = matrix.rows(); i-- > 0 && klt.n_out() < n_most;) {
    if (!is_kept(values[i], values[matrix.rows() - 1])) break;
    klt.variances.push_back(values[i]);
    append_direction((centred.transpose() * solver.eigenvectors().col(i)).normalized(), klt);
  }
  return klt;
}

}  // namespace

Result<Klt> train_klt(std::span<const float> rows, std::uint32_t dim) {
  const bool is_finite =
      std::all_of(rows.begin(), rows.end(), [](float value) { return std::isfinite(value); });
  if (!is_finite) return fail(Code::kInvalidArgument, "KLT: a value of the rows is not finite");
  if (dim == 0 || rows.size() / dim > dim) return from_covariances(rows, dim);
  return from_products(rows, dim);
}

KltView view_of(const Klt& klt) {
  return {klt.dim, klt.n_out(), klt.mean.data(), klt.directions.data()};
}

void turn(const KltView& klt, const float* x, float* out) {
  if (klt.n_out == 0) return;
  kernels()
      .dense(Similarity::kDot, RowType::kF32)
      .many(x, klt.dim, reinterpret_cast<const std::byte*>(klt.directions), klt.dim * sizeof(float),
            klt.n_out, out);
}

void project(const KltView& klt, const float* x, float* centred, float* out) {
  for (std::uint32_t d = 0; d < klt.dim; ++d) centred[d] = x[d] - klt.mean[d];
  turn(klt, centred, out);
}

}  // namespace quiver::encoders::osq

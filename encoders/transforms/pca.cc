#include "encoders/transforms/pca.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

using RowMap =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

/// Rows that are multiplied in f32 before their sum is added in f64.
constexpr Eigen::Index kBlock = 512;

Result<> check_rows(std::span<const float> rows, std::uint32_t dim) {
  if (dim == 0 || dim > Pca::kMaxDim) {
    return fail(Code::kInvalidArgument,
                fmt::format("PCA of {} dimensions: wanted 1 to {}", dim, Pca::kMaxDim));
  }
  if (rows.empty() || rows.size() % dim != 0) {
    return fail(Code::kInvalidArgument,
                fmt::format("PCA: {} values are no rows of {} dimensions", rows.size(), dim));
  }
  if (!std::all_of(rows.begin(), rows.end(), [](float value) { return std::isfinite(value); })) {
    return fail(Code::kInvalidArgument, "PCA: a value of the sample is not finite");
  }
  return {};
}

Eigen::VectorXd mean_of(const RowMap& rows) {
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(rows.cols());
  for (Eigen::Index i = 0; i < rows.rows(); ++i) sum += rows.row(i).cast<double>().transpose();
  return sum / static_cast<double>(rows.rows());
}

/// Only the lower triangle is filled.
Eigen::MatrixXd covariance_of(const RowMap& rows, const Eigen::VectorXf& mean) {
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(rows.cols(), rows.cols());
  Eigen::MatrixXf part(rows.cols(), rows.cols());
  for (Eigen::Index first = 0; first < rows.rows(); first += kBlock) {
    const Eigen::Index n = std::min(kBlock, rows.rows() - first);
    const Eigen::MatrixXf centred =
        (rows.middleRows(first, n).rowwise() - mean.transpose()).transpose();
    part.setZero();
    part.selfadjointView<Eigen::Lower>().rankUpdate(centred);
    sum += part.cast<double>();
  }
  return sum / static_cast<double>(rows.rows());
}

/// Both signs are principal directions: makes the largest coordinate positive.
void choose_sign(std::span<float> direction) {
  const auto largest = std::max_element(direction.begin(), direction.end(),
                                        [](float a, float b) { return std::abs(a) < std::abs(b); });
  if (*largest < 0) {
    for (float& value : direction) value = -value;
  }
}

}  // namespace

Result<Pca> Pca::train(std::span<const float> rows, std::uint32_t dim) {
  QV_TRY(check_rows(rows, dim));
  const RowMap matrix(rows.data(), static_cast<Eigen::Index>(rows.size() / dim), dim);
  const Eigen::VectorXf mean = mean_of(matrix).cast<float>();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance_of(matrix, mean));
  if (solver.info() != Eigen::Success) {
    return fail(Code::kInvalidArgument,
                "PCA: the sample's covariances have no eigenvectors in f64");
  }
  Pca pca;
  pca.dim_ = dim;
  pca.mean_.assign(mean.begin(), mean.end());
  for (Eigen::Index i = dim; i-- > 0;) {  // the solver's eigenvalues are ascending
    pca.variances_.push_back(std::max(0.0f, static_cast<float>(solver.eigenvalues()[i])));
    const Eigen::VectorXf direction = solver.eigenvectors().col(i).cast<float>();
    pca.directions_.insert(pca.directions_.end(), direction.begin(), direction.end());
    choose_sign(std::span(pca.directions_).last(dim));
  }
  pca.turned_mean_.resize(dim);
  pca.turn(pca.mean_.data(), dim, pca.turned_mean_.data());
  return pca;
}

void Pca::turn(const float* in, std::uint32_t n_out, float* out) const {
  kernels()
      .dense(Similarity::kDot, RowType::kF32)
      .many(in, dim_, reinterpret_cast<const std::byte*>(directions_.data()), dim_ * sizeof(float),
            n_out, out);
}

void Pca::project(const float* in, std::uint32_t n_out, float* out) const {
  turn(in, n_out, out);
  for (std::uint32_t i = 0; i < n_out; ++i) out[i] -= turned_mean_[i];
}

}  // namespace quiver::encoders

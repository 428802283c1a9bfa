// Subspace iteration from random vectors (Halko, Martinsson, Tropp, SIAM Review 2011, section 4.5).
#include "encoders/transforms/principal_plane.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "encoders/transforms/random_bits.h"
#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

using RowMap =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

/// Vectors of the subspace. More than two, so that the leading two converge by the ratio of the
/// third variance to the ninth, not to their next.
constexpr Eigen::Index kSubspaceDim = 8;
constexpr int kSubspaceRounds = 12;
constexpr std::uint64_t kSeed = 20261128;

Eigen::MatrixXf random_columns(Eigen::Index dim, Eigen::Index n_columns) {
  Eigen::MatrixXf columns(dim, n_columns);
  for (Eigen::Index i = 0; i < columns.size(); ++i) {
    columns.data()[i] = static_cast<float>(random_unit(kSeed, static_cast<std::uint64_t>(i)) - 0.5);
  }
  return columns;
}

Eigen::MatrixXf orthonormal(const Eigen::MatrixXf& columns) {
  const Eigen::HouseholderQR<Eigen::MatrixXf> qr(columns);
  return qr.householderQ() * Eigen::MatrixXf::Identity(columns.rows(), columns.cols());
}

/// `[dim, n]`, orthonormal: about the leading principal directions of the centred rows.
Eigen::MatrixXf leading_subspace(const Eigen::MatrixXf& centred) {
  const Eigen::Index n_columns = std::min(kSubspaceDim, centred.cols());
  Eigen::MatrixXf basis = orthonormal(random_columns(centred.cols(), n_columns));
  for (int i = 0; i < kSubspaceRounds; ++i) {
    const Eigen::MatrixXf coordinates = centred * basis;
    basis = orthonormal(centred.transpose() * coordinates);
  }
  return basis;
}

/// Both signs are principal directions: makes the largest coordinate positive.
void make_largest_positive(Eigen::Ref<Eigen::VectorXf> direction) {
  Eigen::Index largest = 0;
  direction.cwiseAbs().maxCoeff(&largest);
  if (direction[largest] < 0) direction = -direction;
}

}  // namespace

Result<PrincipalPlane> PrincipalPlane::fit(std::span<const float> rows, std::uint32_t dim) {
  if (dim == 0 || rows.empty() || rows.size() % dim != 0) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} values are no rows of {} dimensions", rows.size(), dim));
  }
  const RowMap matrix(rows.data(), static_cast<Eigen::Index>(rows.size() / dim), dim);
  const Eigen::RowVectorXf mean = matrix.colwise().mean();
  const Eigen::MatrixXf centred = matrix.rowwise() - mean;
  if (!centred.allFinite()) {
    return fail(Code::kInvalidArgument, "a value of the rows is not finite");
  }
  const Eigen::MatrixXf basis = leading_subspace(centred);
  const Eigen::MatrixXd coordinates = (centred * basis).cast<double>();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(coordinates.transpose() *
                                                              coordinates);
  const double total = centred.cast<double>().squaredNorm();
  PrincipalPlane plane;
  plane.directions_.assign(2 * std::size_t{dim}, 0);
  for (std::size_t axis = 0; axis < std::min<std::size_t>(2, dim); ++axis) {
    const auto from_end = static_cast<Eigen::Index>(axis) + 1;  // eigenvalues are ascending
    const Eigen::Index i = basis.cols() - from_end;
    const double variance = std::max(0.0, solver.eigenvalues()[i]);
    if (variance == 0) break;
    Eigen::VectorXf direction = basis * solver.eigenvectors().col(i).cast<float>();
    make_largest_positive(direction);
    std::copy(direction.begin(), direction.end(),
              plane.directions_.begin() + static_cast<std::ptrdiff_t>(axis * dim));
    plane.shares_[axis] = static_cast<float>(std::min(1.0, variance / total));
    plane.projected_mean_[axis] = mean.dot(direction.transpose());
  }
  return plane;
}

std::array<float, 2> PrincipalPlane::project(std::span<const float> row) const {
  std::array<float, 2> place{};
  kernels()
      .dense(Similarity::kDot, RowType::kF32)
      .many(row.data(), static_cast<std::uint32_t>(row.size()),
            reinterpret_cast<const std::byte*>(directions_.data()), row.size() * sizeof(float), 2,
            place.data());
  for (std::size_t axis = 0; axis < place.size(); ++axis) place[axis] -= projected_mean_[axis];
  return place;
}

}  // namespace quiver::encoders

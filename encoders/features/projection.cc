#include "encoders/features/projection.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>

#include "encoders/features/matrices.h"
#include "encoders/transforms/random_bits.h"

namespace quiver::encoders {
namespace {

/// More iterations change no digit that matters, because the spectra of documents fall off fast.
constexpr int kIterations = 6;

std::span<const float> span_of(const RowMajor& matrix) {
  return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}

/// Covariance of rows, times their number; both triangles.
RowMajor spread_of(std::span<const float> rows, std::size_t n) {
  const auto dim = static_cast<Eigen::Index>(rows.size() / n);
  RowMajor centred = Eigen::Map<const RowMajor>(rows.data(), static_cast<Eigen::Index>(n), dim);
  const Eigen::RowVectorXf mean = centred.colwise().mean();
  centred.rowwise() -= mean;
  const auto columns = transposed(span_of(centred), n);
  RowMajor spread = RowMajor::Zero(dim, dim);
  add_products_of_pairs(columns, static_cast<std::size_t>(dim), spread);
  spread.triangularView<Eigen::StrictlyUpper>() = spread.transpose();
  return spread;
}

using MatrixF64 = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Makes the rows orthonormal by Cholesky factors of their products. Runs twice and in f64, because
/// the products square the condition number.
void orthonormalise(RowMajor& basis) {
  MatrixF64 wide = basis.cast<double>();
  for (int round = 0; round < 2; ++round) {
    MatrixF64 squares = MatrixF64::Zero(wide.rows(), wide.rows());
    squares.selfadjointView<Eigen::Lower>().rankUpdate(wide);
    squares.diagonal().array() += 1e-14 * squares.diagonal().maxCoeff() + 1e-300;
    const Eigen::LLT<MatrixF64, Eigen::Lower> factors(squares);
    factors.matrixL().solveInPlace(wide);
  }
  basis = wide.cast<float>();
}

}  // namespace

PrincipalSpace principal_space(std::span<const float> rows, std::size_t n, std::uint32_t n_dims) {
  const std::size_t dim = rows.size() / n;
  const RowMajor spread = spread_of(rows, n);
  RowMajor basis(static_cast<Eigen::Index>(n_dims), static_cast<Eigen::Index>(dim));
  for (Eigen::Index i = 0; i < basis.size(); ++i) {
    basis.data()[i] = static_cast<float>(random_unit(n_dims, static_cast<std::uint64_t>(i)) - 0.5);
  }
  orthonormalise(basis);
  for (int i = 0; i < kIterations; ++i) {
    basis = products(span_of(basis), n_dims, span_of(spread), dim);
    orthonormalise(basis);
  }
  const RowMajor image = products(span_of(basis), n_dims, span_of(spread), dim);
  const RowMajor within = products(span_of(image), n_dims, span_of(basis), n_dims);
  const Eigen::SelfAdjointEigenSolver<RowMajor> axes(within);
  const RowMajor aligned = axes.eigenvectors().transpose() * basis;
  const auto variances = axes.eigenvalues();
  return {{aligned.data(), aligned.data() + aligned.size()},
          {variances.data(), variances.data() + variances.size()}};
}

}  // namespace quiver::encoders

// Gram matrices and Cholesky decompositions by the kernels of products: the same bits on every
// machine, at the speed of its registers.
#pragma once

#include <Eigen/Core>

namespace quiver::encoders {

using ColumnMatrix = Eigen::MatrixXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Products of the rows of `rows` `[n, dim]` with one another: `[n, n]`, of which the lower
/// triangle is valid. Time: n^2 dim / 2 products.
[[nodiscard]] ColumnMatrix gram_of_rows(const ColumnMatrix& rows);

/// The same of its columns: `[dim, dim]`.
[[nodiscard]] ColumnMatrix gram_of_columns(const ColumnMatrix& rows);

/// a * transpose(b), where both have as many columns.
[[nodiscard]] RowMatrix product_with_transposed(const ColumnMatrix& a, const ColumnMatrix& b);

/// matrix = L * transpose(L).
class Cholesky {
 public:
  Cholesky() = default;
  /// Reads the lower triangle. Time: n^3 / 6 products.
  explicit Cholesky(ColumnMatrix matrix);

  /// False if the matrix is not positive definite: nothing else has a meaning then.
  [[nodiscard]] bool is_definite() const { return is_definite_; }
  /// The solution of matrix * x = `values`.
  [[nodiscard]] Eigen::VectorXd solve(const Eigen::VectorXd& values) const;
  /// The solution of L * x = `values` `[n, m]`. Time: n^2 m / 2 products.
  [[nodiscard]] RowMatrix solve_lower(RowMatrix values) const;

 private:
  ColumnMatrix matrix_;  ///< L, and above the diagonal anything
  bool is_definite_ = true;
};

}  // namespace quiver::encoders

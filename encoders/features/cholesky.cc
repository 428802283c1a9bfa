#include "encoders/features/cholesky.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <utility>

#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

using Eigen::Index;

/// Columns that Eigen factorizes before kernels subtract what follows from them.
constexpr Index kFactorBlock = 32;
/// Columns of a triangle that are computed together: what lies above the diagonal is wasted.
constexpr Index kTriangleBlock = 64;

/// Columns of `matrix` from row `first` on: k is the number of the column.
ValuesByPlace columns_below(const ColumnMatrix& matrix, Index column, Index first) {
  return {matrix.data() + column * matrix.rows() + first, static_cast<std::size_t>(matrix.rows()),
          static_cast<std::size_t>(matrix.rows() - first)};
}

ValuesByPlace first_of(ValuesByPlace values, Index n) {
  values.n = std::min(values.n, static_cast<std::size_t>(n));
  return values;
}

ValuesByPlace from_of(ValuesByPlace values, Index first) {
  values.values += first;
  values.n -= static_cast<std::size_t>(first);
  return values;
}

/// Adds `factor` times the products of `vectors` with one another to the lower triangle of `out`
/// that begins at (`first`, `first`).
void add_triangle(const ValuesByPlace& vectors, Index depth, double factor, Index first,
                  ColumnMatrix& out) {
  const auto n = static_cast<Index>(vectors.n);
  for (Index i = 0; i < n; i += kTriangleBlock) {
    const ValuesByPlace below = from_of(vectors, i);
    kernels().products.add(first_of(below, kTriangleBlock), below, static_cast<std::size_t>(depth),
                           factor, &out(first + i, first + i),
                           static_cast<std::size_t>(out.rows()));
  }
}

}  // namespace

ColumnMatrix gram_of_rows(const ColumnMatrix& rows) {
  ColumnMatrix gram = ColumnMatrix::Zero(rows.rows(), rows.rows());
  if (rows.rows() != 0) add_triangle(columns_below(rows, 0, 0), rows.cols(), 1, 0, gram);
  return gram;
}

ColumnMatrix gram_of_columns(const ColumnMatrix& rows) { return gram_of_rows(rows.transpose()); }

RowMatrix product_with_transposed(const ColumnMatrix& a, const ColumnMatrix& b) {
  RowMatrix out = RowMatrix::Zero(a.rows(), b.rows());
  kernels().products.add(columns_below(a, 0, 0), columns_below(b, 0, 0),
                         static_cast<std::size_t>(a.cols()), 1, out.data(),
                         static_cast<std::size_t>(out.cols()));
  return out;
}

Cholesky::Cholesky(ColumnMatrix matrix) : matrix_(std::move(matrix)) {
  const Index n = matrix_.rows();
  for (Index first = 0; first < n; first += kFactorBlock) {
    const Index n_columns = std::min(kFactorBlock, n - first);
    const Index end = first + n_columns;
    auto diagonal = matrix_.block(first, first, n_columns, n_columns);
    const Eigen::LLT<ColumnMatrix> factors(diagonal);
    if (factors.info() != Eigen::Success) {
      is_definite_ = false;
      return;
    }
    diagonal = factors.matrixL();
    if (end == n) return;
    auto below = matrix_.block(end, first, n - end, n_columns);
    factors.matrixL().transpose().solveInPlace<Eigen::OnTheRight>(below);
    add_triangle(columns_below(matrix_, first, end), n_columns, -1, end, matrix_);
  }
}

Eigen::VectorXd Cholesky::solve(const Eigen::VectorXd& values) const {
  const auto upper = matrix_.transpose().triangularView<Eigen::Upper>();
  return upper.solve(matrix_.triangularView<Eigen::Lower>().solve(values));
}

RowMatrix Cholesky::solve_lower(RowMatrix values) const {
  const Index n = matrix_.rows();
  for (Index first = 0; first < n; first += kFactorBlock) {
    const Index n_rows = std::min(kFactorBlock, n - first);
    const Index end = first + n_rows;
    auto block = values.middleRows(first, n_rows);
    matrix_.block(first, first, n_rows, n_rows).triangularView<Eigen::Lower>().solveInPlace(block);
    if (end == n) break;
    const auto m = static_cast<std::size_t>(values.cols());
    kernels().products.add(columns_below(matrix_, first, end), {block.data(), m, m},
                           static_cast<std::size_t>(n_rows), -1, &values(end, 0), m);
  }
  return values;
}

}  // namespace quiver::encoders

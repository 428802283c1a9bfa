#include "encoders/features/cholesky.h"

#include <gtest/gtest.h>

#include <random>

namespace quiver::encoders {
namespace {

ColumnMatrix random_matrix(Eigen::Index n_rows, Eigen::Index n_columns, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  return ColumnMatrix::NullaryExpr(n_rows, n_columns, [&] { return normal(random); });
}

ColumnMatrix lower_part(const ColumnMatrix& matrix) {
  return matrix.triangularView<Eigen::Lower>();
}

TEST(Cholesky, GramMatricesAreProductsOfRowsOrColumns) {
  for (const Eigen::Index n : {1, 5, 64, 65, 150}) {
    const ColumnMatrix rows = random_matrix(n, 40, 1);
    const ColumnMatrix of_rows = rows * rows.transpose();
    const ColumnMatrix of_columns = rows.transpose() * rows;
    EXPECT_LT((lower_part(gram_of_rows(rows)) - lower_part(of_rows)).norm(), 1e-9 * n);
    EXPECT_LT((lower_part(gram_of_columns(rows)) - lower_part(of_columns)).norm(), 1e-9 * n);
    const ColumnMatrix others = random_matrix(7, 40, 2);
    EXPECT_LT((product_with_transposed(rows, others) - rows * others.transpose()).norm(), 1e-9 * n);
  }
}

TEST(Cholesky, SolvesWhatItDecomposed) {
  for (const Eigen::Index n : {1, 2, 31, 32, 33, 64, 100, 193}) {
    const ColumnMatrix rows = random_matrix(n, n + 10, 3);
    const ColumnMatrix whole = rows * rows.transpose();
    const Cholesky factors{lower_part(whole)};
    ASSERT_TRUE(factors.is_definite()) << n;
    const Eigen::VectorXd wanted = random_matrix(n, 1, 4);
    EXPECT_LT((factors.solve(whole * wanted) - wanted).norm() / wanted.norm(), 1e-6) << n;
    // |L^-1 B|^2 by column is the diagonal of B' whole^-1 B.
    const ColumnMatrix values = random_matrix(n, 9, 5);
    const RowMatrix solved = factors.solve_lower(values);
    for (Eigen::Index j = 0; j < values.cols(); ++j) {
      const double direct = values.col(j).dot(factors.solve(values.col(j)));
      EXPECT_NEAR(solved.col(j).squaredNorm() / direct, 1, 1e-6) << n;
    }
  }
}

TEST(Cholesky, TellsWhatIsNotDefinite) {
  for (const Eigen::Index at : {0, 31, 32, 99}) {
    ColumnMatrix matrix = ColumnMatrix::Identity(100, 100);
    matrix(at, at) = -1;
    EXPECT_FALSE(Cholesky(matrix).is_definite()) << at;
  }
  EXPECT_TRUE(Cholesky(ColumnMatrix::Identity(100, 100)).is_definite());
}

}  // namespace
}  // namespace quiver::encoders

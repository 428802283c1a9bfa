// Estimates of a scorer's scores by ridge regression on vectors (Yadav et al., ICLR 2024: Adaptive
// retrieval and scalable indexing for k-NN search with cross-encoders).
//
//   score(x) = b + sum_j c_j * column_j(x) + <w, x>
//
// fits the scores with the penalty ridge * |w|^2, and nearly none on b and c. Without columns,
// intercept and penalty this is the matrix C * pinv(U) * R of ANNCUR (Yadav et al., EMNLP 2022), if
// x are the scores of anchor queries.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/model/proposals.h"

namespace quiver::engine {

/// Vectors of points, and columns of other numbers that may explain scores.
class PointFeatures {
 public:
  /// Room for `n_points` is reserved.
  PointFeatures(std::size_t dim, std::size_t n_columns, std::size_t n_points = 0)
      : dim_(dim), n_columns_(n_columns) {
    vectors_.reserve(n_points * dim);
    columns_.reserve(n_points * n_columns);
  }

  /// `vector`: `[dim]`; `columns`: `[n_columns]`; all finite.
  void add(std::span<const float> vector, std::span<const double> columns);

  [[nodiscard]] std::size_t n() const { return n_; }
  [[nodiscard]] std::size_t dim() const { return dim_; }
  [[nodiscard]] std::size_t n_columns() const { return n_columns_; }
  [[nodiscard]] const double* vectors() const { return vectors_.data(); }  ///< `[n, dim]`
  [[nodiscard]] const double* columns() const { return columns_.data(); }  ///< `[n, n_columns]`
  [[nodiscard]] std::span<const double> columns_of(std::size_t i) const {
    return std::span(columns_).subspan(i * n_columns_, n_columns_);
  }

 private:
  std::size_t dim_;
  std::size_t n_columns_;
  std::size_t n_ = 0;
  std::vector<double> vectors_;
  std::vector<double> columns_;
};

/// Immutable; any number of threads. The same input gives the same bits on every machine.
class ScoreModel {
 public:
  /// `scores`: one for each point, at least one, finite. Time: n^2 dim or n dim^2 products,
  /// whichever is less, and a third of n^3 or dim^3.
  ScoreModel(const PointFeatures& points, std::span<const double> scores,
             const RidgeOptions& options);
  ~ScoreModel();
  ScoreModel(ScoreModel&&) noexcept;
  ScoreModel& operator=(ScoreModel&&) noexcept;

  /// One estimate for each of `points`.
  [[nodiscard]] std::vector<double> scores_of(const PointFeatures& points) const;
  /// Standard deviation of the scorer's score around the estimate of each of `points`, whose
  /// columns are not read.
  [[nodiscard]] std::vector<double> deviations_of(const PointFeatures& points) const;
  [[nodiscard]] std::span<const double> weights() const;     ///< w, `[dim]`
  [[nodiscard]] double factor_of(std::size_t column) const;  ///< c_j
  [[nodiscard]] double ridge() const;
  [[nodiscard]] double r2() const;

 private:
  struct Fit;
  std::unique_ptr<const Fit> fit_;
};

/// Numbers of `n` of the points, each the one farthest from the span of those before it (pivoted
/// Cholesky decomposition of the Gram matrix).
[[nodiscard]] std::vector<std::size_t> most_different(const PointFeatures& points, std::size_t n);

}  // namespace quiver::engine

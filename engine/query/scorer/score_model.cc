#include "engine/query/scorer/score_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "encoders/features/cholesky.h"

namespace quiver::engine {
namespace {

using Eigen::Index;
using encoders::Cholesky;
using encoders::gram_of_columns;
using encoders::gram_of_rows;
using encoders::product_with_transposed;
using encoders::RowMatrix;
using Matrix = encoders::ColumnMatrix;
using Vector = Eigen::VectorXd;
using RowMap = Eigen::Map<const RowMatrix>;

/// Penalties that are tried, in squared lengths of a vector.
constexpr std::array kRidges{1e-6, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0};
/// Points on which penalties are compared. The best one does not depend on their number.
constexpr Index kMaxTuningPoints = 80;
/// Least penalty, in squared lengths, so that a singular matrix has a decomposition.
constexpr double kLeastRidge = 1e-12;
constexpr double kRidgeGrowth = 10;
/// Variance of a standardized column and of the intercept as features, in squared lengths of a
/// vector: so large that nearly no penalty falls on them.
constexpr double kFreeVariance = 100;

/// Eigen chooses the order of additions by the sizes of caches: fixed sizes give the same bits.
const bool kHasFixedOrder = [] {
  Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 2 << 20);
  return true;
}();

RowMap vectors_of(const PointFeatures& points) {
  return {points.vectors(), static_cast<Index>(points.n()), static_cast<Index>(points.dim())};
}

RowMap columns_of(const PointFeatures& points) {
  return {points.columns(), static_cast<Index>(points.n()), static_cast<Index>(points.n_columns())};
}

/// `matrix` + `ridge` times the identity. Raises `ridge` until that is positive definite.
Cholesky decomposed(Matrix matrix, double unit, double& ridge) {
  double added = std::max(ridge, kLeastRidge * unit);
  matrix.diagonal().array() += added;
  while (true) {
    Cholesky factors(matrix);
    if (factors.is_definite() || !std::isfinite(added)) {
      ridge = added;
      return factors;
    }
    matrix.diagonal().array() += (kRidgeGrowth - 1) * added;
    added *= kRidgeGrowth;
  }
}

/// What the scores that are left out one at a time say of a penalty.
struct LeftOut {
  double error = 0;  ///< mean square
  double scale = 0;  ///< variance of <w, x> for each squared unit of x, by which errors fit
};

LeftOut leave_out(const Matrix& gram, const Vector& scores, double unit, double ridge) {
  const Index n = gram.rows();
  const auto factors = decomposed(gram, unit, ridge);
  const Vector dual = factors.solve(scores);
  const Vector precisions =
      factors.solve_lower(RowMatrix::Identity(n, n)).colwise().squaredNorm().transpose();
  LeftOut left;
  for (Index i = 0; i < n; ++i) {
    left.error += dual[i] * dual[i] / (precisions[i] * precisions[i]);
    left.scale += dual[i] * dual[i] / precisions[i];
  }
  left.error /= static_cast<double>(n);
  left.scale /= static_cast<double>(n);
  return left;
}

/// Numbers of at most kMaxTuningPoints points, spread evenly over the order of scores.
std::vector<Index> tuning_points(std::span<const double> scores) {
  std::vector<Index> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
  });
  const auto n = static_cast<Index>(order.size());
  const Index n_chosen = std::min(n, kMaxTuningPoints);
  std::vector<Index> chosen;
  for (Index i = 0; i < n_chosen; ++i) {
    chosen.push_back(order[static_cast<std::size_t>(i * n / n_chosen)]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

double variance_of(const Vector& values) {
  return (values.array() - values.mean()).square().mean();
}

}  // namespace

void PointFeatures::add(std::span<const float> vector, std::span<const double> columns) {
  vectors_.insert(vectors_.end(), vector.begin(), vector.end());
  columns_.insert(columns_.end(), columns.begin(), columns.end());
  ++n_;
}

struct ScoreModel::Fit {
  Vector centre;  ///< subtracted from vectors
  Vector column_means;
  Vector column_factors;  ///< of a column's difference from its mean, as a feature
  double one = 0;         ///< the feature that all points share
  Vector weights;         ///< of vectors, columns and `one`
  double ridge = 0;
  double unit = 0;   ///< mean squared length of the centred vectors
  double scale = 0;  ///< LeftOut::scale
  double r2 = 0;
  /// The known features, if there are no more points than features: `gram` is then of points, else
  /// of features.
  std::optional<Matrix> rows;
  Cholesky gram;

  void scale_features(const PointFeatures& points, bool has_intercept);
  [[nodiscard]] Matrix features_of(const PointFeatures& points) const;
  void tune(const Matrix& all, std::span<const double> scores, const RidgeOptions& options);
  void fit_weights(Matrix all, const Vector& scores);
};

void ScoreModel::Fit::scale_features(const PointFeatures& points, bool has_intercept) {
  const RowMap vectors = vectors_of(points);
  const RowMap columns = columns_of(points);
  centre = Vector::Zero(vectors.cols());
  column_means = Vector::Zero(columns.cols());
  if (has_intercept) {
    centre = vectors.colwise().mean();
    column_means = columns.colwise().mean();
  }
  unit = (vectors.rowwise() - centre.transpose()).squaredNorm() / static_cast<double>(points.n());
  if (!(unit > 0)) unit = 1;  // one point, or equal ones: any penalty does
  const double length = std::sqrt(kFreeVariance * unit);
  one = has_intercept ? length : 0;
  column_factors.resize(columns.cols());
  for (Index j = 0; j < columns.cols(); ++j) {
    const double deviation = std::sqrt((columns.col(j).array() - column_means[j]).square().mean());
    column_factors[j] = deviation > 0 ? length / deviation : 0;
  }
}

Matrix ScoreModel::Fit::features_of(const PointFeatures& points) const {
  const auto n = static_cast<Index>(points.n());
  Matrix features(n, centre.size() + column_means.size() + 1);
  features.leftCols(centre.size()) = vectors_of(points).rowwise() - centre.transpose();
  features.middleCols(centre.size(), column_means.size()) =
      (columns_of(points).rowwise() - column_means.transpose()) * column_factors.asDiagonal();
  features.rightCols(1).setConstant(one);
  return features;
}

/// Chooses the penalty, and tells how well left out scores are estimated with it.
void ScoreModel::Fit::tune(const Matrix& all, std::span<const double> scores,
                           const RidgeOptions& options) {
  const auto chosen = tuning_points(scores);
  const Vector some_scores =
      Eigen::Map<const Vector>(scores.data(), static_cast<Index>(scores.size()))(chosen);
  const Matrix gram_of_some = gram_of_rows(all(chosen, Eigen::all));
  LeftOut best{std::numeric_limits<double>::infinity(), 0};
  const auto try_ridge = [&](double candidate) {
    const LeftOut left = leave_out(gram_of_some, some_scores, unit, candidate);
    if (!(left.error < best.error)) return;
    best = left;
    ridge = candidate;
  };
  if (options.ridge) {
    ridge = *options.ridge;
    try_ridge(ridge);
  } else {
    ridge = kRidges.back() * unit;
    for (const double candidate : kRidges) try_ridge(candidate * unit);
  }
  const double variance = variance_of(some_scores);
  scale = best.scale;
  r2 = variance > 0 && std::isfinite(best.error) ? 1 - best.error / variance : 0;
}

void ScoreModel::Fit::fit_weights(Matrix all, const Vector& scores) {
  if (all.rows() <= all.cols()) {
    gram = decomposed(gram_of_rows(all), unit, ridge);
    weights = all.transpose() * gram.solve(scores);
    rows = std::move(all);
  } else {
    gram = decomposed(gram_of_columns(all), unit, ridge);
    weights = gram.solve(all.transpose() * scores);
  }
}

ScoreModel::ScoreModel(const PointFeatures& points, std::span<const double> scores,
                       const RidgeOptions& options) {
  auto fit = std::make_unique<Fit>();
  fit->scale_features(points, options.has_intercept);
  Matrix all = fit->features_of(points);
  fit->tune(all, scores, options);
  fit->fit_weights(std::move(all),
                   Eigen::Map<const Vector>(scores.data(), static_cast<Index>(scores.size())));
  fit_ = std::move(fit);
}

ScoreModel::~ScoreModel() = default;
ScoreModel::ScoreModel(ScoreModel&&) noexcept = default;
ScoreModel& ScoreModel::operator=(ScoreModel&&) noexcept = default;

std::vector<double> ScoreModel::scores_of(const PointFeatures& points) const {
  const Vector scores = fit_->features_of(points) * fit_->weights;
  return {scores.begin(), scores.end()};
}

/// The variance of a Gaussian process with a linear kernel, and the penalty as its noise.
std::vector<double> ScoreModel::deviations_of(const PointFeatures& points) const {
  const Matrix features = fit_->features_of(points);
  Vector left;
  if (fit_->rows) {
    const RowMatrix known = fit_->gram.solve_lower(product_with_transposed(*fit_->rows, features));
    left = features.rowwise().squaredNorm() - known.colwise().squaredNorm().transpose();
  } else {
    const RowMatrix known = fit_->gram.solve_lower(features.transpose());
    left = fit_->ridge * known.colwise().squaredNorm().transpose();
  }
  std::vector<double> deviations(points.n());
  for (std::size_t i = 0; i < deviations.size(); ++i) {
    const double variance = std::max(0.0, left[static_cast<Index>(i)]) + fit_->ridge;
    deviations[i] = std::sqrt(fit_->scale * variance);
  }
  return deviations;
}

std::span<const double> ScoreModel::weights() const {
  return {fit_->weights.data(), static_cast<std::size_t>(fit_->centre.size())};
}

double ScoreModel::factor_of(std::size_t column) const {
  const auto at = static_cast<Index>(column);
  return fit_->weights[fit_->centre.size() + at] * fit_->column_factors[at];
}

double ScoreModel::ridge() const { return fit_->ridge; }

double ScoreModel::r2() const { return fit_->r2; }

std::vector<std::size_t> most_different(const PointFeatures& points, std::size_t n) {
  const RowMap vectors = vectors_of(points);
  Vector left = vectors.rowwise().squaredNorm();
  Matrix factors(static_cast<Index>(points.n()), static_cast<Index>(n));
  std::vector<std::size_t> chosen;
  const double least = kLeastRidge * (left.size() == 0 ? 0 : left.maxCoeff());
  for (Index j = 0; chosen.size() < std::min(n, points.n()); ++j) {
    Index best = 0;
    const double most = left.maxCoeff(&best);
    chosen.push_back(static_cast<std::size_t>(best));
    left[best] = -std::numeric_limits<double>::infinity();
    factors.col(j).setZero();
    if (most <= least) continue;  // the others are in the span: they follow in their order
    Vector factor = vectors * vectors.row(best).transpose();
    factor -= factors.leftCols(j) * factors.row(best).head(j).transpose();
    factors.col(j) = factor / std::sqrt(most);
    left.array() -= factors.col(j).array().square();
  }
  return chosen;
}

}  // namespace quiver::engine

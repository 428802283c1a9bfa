#include "engine/query/scorer/score_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace quiver::engine {
namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowMap = Eigen::Map<const RowMatrix>;

/// Penalties that are tried, in squared lengths of a vector.
constexpr std::array kRidges{1e-6, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0};
/// Points on which penalties are compared. The best one does not depend on their number.
constexpr Index kMaxTuningPoints = 80;
/// Least penalty, in squared lengths, so that a singular matrix has a decomposition.
constexpr double kLeastRidge = 1e-12;
constexpr double kRidgeGrowth = 10;
/// Variance of the intercept, in squared lengths: without the point that is left out it is another.
constexpr double kInterceptVariance = 100;
/// Penalty of the factors of standardized columns, for each point: two columns may be equal.
constexpr double kColumnRidge = 1e-6;

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

/// Products of the rows of `rows` with one another.
Matrix gram_of(const Matrix& rows) {
  Matrix gram = Matrix::Zero(rows.rows(), rows.rows());
  gram.selfadjointView<Eigen::Lower>().rankUpdate(rows);
  return gram;
}

/// `matrix` + `ridge` times the identity. Raises `ridge` until that is positive definite.
Eigen::LLT<Matrix> decomposed(Matrix matrix, double unit, double& ridge) {
  double added = std::max(ridge, kLeastRidge * unit);
  matrix.diagonal().array() += added;
  while (true) {
    Eigen::LLT<Matrix> factors(matrix);
    if (factors.info() == Eigen::Success || !std::isfinite(added)) {
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

LeftOut leave_out(const Matrix& gram, const Vector& rest, double unit, double ridge) {
  const Index n = gram.rows();
  const auto factors = decomposed(gram, unit, ridge);
  const Vector dual = factors.solve(rest);
  const Matrix inverse = factors.matrixL().solve(Matrix::Identity(n, n));
  LeftOut left;
  for (Index i = 0; i < n; ++i) {
    const double precision = inverse.col(i).squaredNorm();
    left.error += dual[i] * dual[i] / (precision * precision);
    left.scale += dual[i] * dual[i] / precision;
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
  double intercept = 0;
  Vector column_means;
  Vector factors;  ///< of the columns
  Vector weights;
  double ridge = 0;
  double unit = 0;   ///< mean squared length of the centred vectors
  double scale = 0;  ///< LeftOut::scale
  double r2 = 0;
  /// The centred vectors, if there are no more of them than dimensions: `gram` is then of points,
  /// else of dimensions.
  std::optional<Matrix> rows;
  Eigen::LLT<Matrix> gram;

  [[nodiscard]] Matrix centred(const PointFeatures& points) const {
    return vectors_of(points).rowwise() - centre.transpose();
  }

  void fit_columns(const PointFeatures& points, const Vector& scores);
  [[nodiscard]] Vector by_columns(const PointFeatures& points) const;
  void tune(const Matrix& all, const Vector& rest, std::span<const double> scores,
            const RidgeOptions& options);
  void fit_weights(Matrix all, const Vector& rest);
};

void ScoreModel::Fit::fit_columns(const PointFeatures& points, const Vector& scores) {
  const RowMap columns = columns_of(points);
  intercept = scores.mean();
  column_means = columns.colwise().mean();
  Matrix centred_columns = columns.rowwise() - column_means.transpose();
  Vector lengths = centred_columns.colwise().norm();
  for (double& length : lengths) length = length > 0 ? length : 1;
  centred_columns.array().rowwise() /= lengths.transpose().array();
  Matrix products = centred_columns.transpose() * centred_columns;
  products.diagonal().array() += kColumnRidge;
  const Vector targets = centred_columns.transpose() * (scores.array() - intercept).matrix();
  factors = products.ldlt().solve(targets);
  factors.array() /= lengths.array();
}

Vector ScoreModel::Fit::by_columns(const PointFeatures& points) const {
  const Matrix centred_columns = columns_of(points).rowwise() - column_means.transpose();
  return (centred_columns * factors).array() + intercept;
}

/// Chooses the penalty, and tells how well left out scores are estimated with it.
void ScoreModel::Fit::tune(const Matrix& all, const Vector& rest, std::span<const double> scores,
                           const RidgeOptions& options) {
  const auto chosen = tuning_points(scores);
  const Matrix some = all(chosen, Eigen::all);
  const Vector some_rest = rest(chosen);
  Matrix some_gram = gram_of(some);
  if (options.has_intercept) some_gram.array() += kInterceptVariance * unit;
  LeftOut best{std::numeric_limits<double>::infinity(), 0};
  const auto try_ridge = [&](double candidate) {
    const LeftOut left = leave_out(some_gram, some_rest, unit, candidate);
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
  const Vector some_scores = Eigen::Map<const Vector>(scores.data(), rest.size())(chosen);
  const double variance = variance_of(some_scores);
  scale = best.scale;
  r2 = variance > 0 && std::isfinite(best.error) ? 1 - best.error / variance : 0;
}

void ScoreModel::Fit::fit_weights(Matrix all, const Vector& rest) {
  if (all.rows() <= all.cols()) {
    gram = decomposed(gram_of(all), unit, ridge);
    weights = all.transpose() * gram.solve(rest);
    rows = std::move(all);
  } else {
    gram = decomposed(gram_of(all.transpose()), unit, ridge);
    weights = gram.solve(all.transpose() * rest);
  }
}

ScoreModel::ScoreModel(const PointFeatures& points, std::span<const double> scores,
                       const RidgeOptions& options) {
  auto fit = std::make_unique<Fit>();
  const Vector wanted = Eigen::Map<const Vector>(scores.data(), static_cast<Index>(scores.size()));
  const auto dim = static_cast<Index>(points.dim());
  const auto n_columns = static_cast<Index>(points.n_columns());
  if (options.has_intercept) {
    fit->centre = vectors_of(points).colwise().mean();
    fit->fit_columns(points, wanted);
  } else {
    fit->centre = Vector::Zero(dim);
    fit->column_means = Vector::Zero(n_columns);
    fit->factors = Vector::Zero(n_columns);
  }
  const Vector rest = wanted - fit->by_columns(points);
  Matrix all = fit->centred(points);
  fit->unit = all.squaredNorm() / static_cast<double>(points.n());
  if (fit->unit <= 0) fit->unit = 1;  // one point, or equal ones: any penalty does
  fit->tune(all, rest, scores, options);
  fit->fit_weights(std::move(all), rest);
  fit_ = std::move(fit);
}

ScoreModel::~ScoreModel() = default;
ScoreModel::ScoreModel(ScoreModel&&) noexcept = default;
ScoreModel& ScoreModel::operator=(ScoreModel&&) noexcept = default;

std::vector<double> ScoreModel::scores_of(const PointFeatures& points) const {
  const Vector scores = fit_->by_columns(points) + fit_->centred(points) * fit_->weights;
  return {scores.begin(), scores.end()};
}

/// The variance of a Gaussian process with a linear kernel, and the penalty as its noise.
std::vector<double> ScoreModel::deviations_of(const PointFeatures& points) const {
  const Matrix centred = fit_->centred(points);
  std::vector<double> deviations(points.n());
  Vector left;
  if (fit_->rows) {
    const Matrix known = fit_->gram.matrixL().solve(*fit_->rows * centred.transpose());
    left = centred.rowwise().squaredNorm() - known.colwise().squaredNorm().transpose();
  } else {
    const Matrix known = fit_->gram.matrixL().solve(centred.transpose());
    left = fit_->ridge * known.colwise().squaredNorm().transpose();
  }
  for (std::size_t i = 0; i < deviations.size(); ++i) {
    const double variance = std::max(0.0, left[static_cast<Index>(i)]) + fit_->ridge;
    deviations[i] = std::sqrt(fit_->scale * variance);
  }
  return deviations;
}

std::span<const double> ScoreModel::weights() const {
  return {fit_->weights.data(), static_cast<std::size_t>(fit_->weights.size())};
}

double ScoreModel::factor_of(std::size_t column) const {
  return fit_->factors[static_cast<Index>(column)];
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

#include "engine/query/scorer/score_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace quiver::engine {
namespace {

using Rows = std::vector<std::vector<float>>;

Rows random_rows(std::size_t n, std::size_t dim, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Rows rows(n, std::vector<float>(dim));
  for (auto& row : rows) {
    for (float& value : row) value = normal(random) / std::sqrt(static_cast<float>(dim));
  }
  return rows;
}

PointFeatures features_of(const Rows& rows, const std::vector<std::vector<double>>& columns = {}) {
  const std::size_t n_columns = columns.empty() ? 0 : columns.front().size();
  PointFeatures features(rows.front().size(), n_columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    features.add(rows[i], columns.empty() ? std::vector<double>() : columns[i]);
  }
  return features;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

/// Solves `matrix` * x = `right` by Gauss and Jordan, with pivots.
std::vector<double> solved(std::vector<std::vector<double>> matrix, std::vector<double> right) {
  const std::size_t n = right.size();
  for (std::size_t j = 0; j < n; ++j) {
    std::size_t pivot = j;
    for (std::size_t i = j; i < n; ++i) {
      if (std::abs(matrix[i][j]) > std::abs(matrix[pivot][j])) pivot = i;
    }
    std::swap(matrix[j], matrix[pivot]);
    std::swap(right[j], right[pivot]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == j) continue;
      const double factor = matrix[i][j] / matrix[j][j];
      for (std::size_t c = j; c < n; ++c) matrix[i][c] -= factor * matrix[j][c];
      right[i] -= factor * right[j];
    }
  }
  for (std::size_t j = 0; j < n; ++j) right[j] /= matrix[j][j];
  return right;
}

/// Scores of `rows` that differ from a linear function by noise of the given deviation.
std::vector<double> linear_scores(const Rows& rows, const std::vector<float>& weights, double noise,
                                  std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> scores;
  for (const auto& row : rows) scores.push_back(3 + dot(row, weights) + noise * normal(random));
  return scores;
}

TEST(ScoreModel, LinearScoresAreExactFromOnePointMoreThanDimensions) {
  constexpr std::size_t kDim = 24;
  const Rows known = random_rows(kDim + 1, kDim, 1);
  const Rows others = random_rows(50, kDim, 2);
  const auto weights = random_rows(1, kDim, 3).front();
  const ScoreModel model(features_of(known), linear_scores(known, weights, 0, 0), {});
  const auto wanted = linear_scores(others, weights, 0, 0);
  const auto found = model.scores_of(features_of(others));
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4);
  EXPECT_GT(model.r2(), 0.5);
}

/// C * pinv(U) * R: the vector of a point has its scores by the anchor queries.
TEST(ScoreModel, WithoutPenaltyItIsAnncur) {
  constexpr std::size_t kQueries = 30;
  for (const std::size_t n_anchors : {5U, 20U, 29U}) {
    const Rows anchors = random_rows(n_anchors, kQueries, 4);
    const Rows others = random_rows(40, kQueries, 5);
    std::vector<double> scores;
    for (std::size_t i = 0; i < n_anchors; ++i) scores.push_back(std::sin(1.7 * i));
    std::vector<std::vector<double>> gram(n_anchors, std::vector<double>(n_anchors));
    for (std::size_t i = 0; i < n_anchors; ++i) {
      for (std::size_t j = 0; j < n_anchors; ++j) gram[i][j] = dot(anchors[i], anchors[j]);
    }
    const auto dual = solved(gram, scores);
    const ScoreModel model(features_of(anchors), scores, {.ridge = 0, .has_intercept = false});
    const auto found = model.scores_of(features_of(others));
    for (std::size_t j = 0; j < others.size(); ++j) {
      double wanted = 0;
      for (std::size_t i = 0; i < n_anchors; ++i) wanted += dual[i] * dot(anchors[i], others[j]);
      EXPECT_NEAR(found[j], wanted, 1e-6 * std::max(1.0, std::abs(wanted)));
    }
  }
}

/// The same function, whether the matrix is of points or of dimensions.
TEST(ScoreModel, BothMatricesAgree) {
  const Rows known = random_rows(40, 40, 6);
  const Rows wide = random_rows(41, 40, 6);  // the same rows and one more
  const Rows others = random_rows(10, 40, 7);
  const auto weights = random_rows(1, 40, 8).front();
  auto scores = linear_scores(wide, weights, 0.1, 9);
  const ScoreModel of_dimensions(features_of(wide), scores, {.ridge = 0.5, .has_intercept = false});
  std::vector<std::vector<double>> gram(41, std::vector<double>(41));
  for (std::size_t i = 0; i < 41; ++i) {
    for (std::size_t j = 0; j < 41; ++j) gram[i][j] = dot(wide[i], wide[j]) + (i == j ? 0.5 : 0);
  }
  const auto dual = solved(gram, scores);
  const auto found = of_dimensions.scores_of(features_of(others));
  for (std::size_t j = 0; j < others.size(); ++j) {
    double wanted = 0;
    for (std::size_t i = 0; i < 41; ++i) wanted += dual[i] * dot(wide[i], others[j]);
    EXPECT_NEAR(found[j], wanted, 1e-8);
  }
  scores.pop_back();
  const ScoreModel of_points(features_of(known), scores, {.ridge = 0.5, .has_intercept = false});
  const auto few = of_points.deviations_of(features_of(others));
  const auto more = of_dimensions.deviations_of(features_of(others));
  for (std::size_t j = 0; j < others.size(); ++j) EXPECT_NEAR(few[j] / more[j], 1, 0.3);
}

TEST(ScoreModel, DeviationsFitTheErrors) {
  constexpr std::size_t kDim = 32;
  for (const std::size_t n : {20U, 60U, 300U}) {
    double squares = 0;
    std::size_t n_errors = 0;
    for (std::uint32_t world = 0; world < 20; ++world) {
      const Rows known = random_rows(n, kDim, 10 + world);
      const Rows others = random_rows(50, kDim, 50 + world);
      const auto weights = random_rows(1, kDim, 90 + world).front();
      const ScoreModel model(features_of(known), linear_scores(known, weights, 0.1, world), {});
      const auto found = model.scores_of(features_of(others));
      const auto deviations = model.deviations_of(features_of(others));
      const auto wanted = linear_scores(others, weights, 0.1, world + 1);
      for (std::size_t i = 0; i < others.size(); ++i) {
        squares += std::pow((found[i] - wanted[i]) / deviations[i], 2);
        ++n_errors;
      }
    }
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(n_errors)), 1, 0.4) << n << " points";
  }
}

TEST(ScoreModel, ColumnsExplainWhatVectorsCannot) {
  const Rows known = random_rows(30, 16, 20);
  const Rows others = random_rows(30, 16, 21);
  const auto column_of = [](const Rows& rows) {
    std::vector<std::vector<double>> columns;
    for (const auto& row : rows) {
      const double value = std::abs(row[0]);
      columns.push_back({value, value});  // equal columns share the factor
    }
    return columns;
  };
  std::vector<double> scores;
  for (const auto& row : known) scores.push_back(10 * std::abs(row[0]) - 2);
  const ScoreModel model(features_of(known, column_of(known)), scores, {});
  const auto found = model.scores_of(features_of(others, column_of(others)));
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_NEAR(found[i], 10 * std::abs(others[i][0]) - 2, 0.01);
  }
  EXPECT_NEAR(model.factor_of(0) + model.factor_of(1), 10, 0.01);
}

TEST(ScoreModel, DegenerateInputGivesFiniteEstimates) {
  const Rows others = random_rows(5, 8, 30);
  const Rows zeros(4, std::vector<float>(8));
  const Rows equal(4, random_rows(1, 8, 31).front());
  for (const Rows& known : {random_rows(1, 8, 32), zeros, equal, random_rows(4, 8, 33)}) {
    for (const double step : {0.0, 1e-300, 1.0, 1e150}) {
      std::vector<double> scores;
      for (std::size_t i = 0; i < known.size(); ++i)
        scores.push_back(step * static_cast<double>(i));
      const ScoreModel model(features_of(known), scores, {});
      for (const double score : model.scores_of(features_of(others))) {
        EXPECT_TRUE(std::isfinite(score)) << known.size() << " points, step " << step;
      }
      for (const double deviation : model.deviations_of(features_of(others))) {
        EXPECT_TRUE(deviation >= 0) << known.size() << " points, step " << step;
      }
      EXPECT_LE(model.r2(), 1);
    }
  }
}

TEST(ScoreModel, TheMostDifferentPointsComeFirst) {
  Rows rows(6, std::vector<float>(4));
  rows[0][0] = 1;
  rows[1][0] = 1;
  rows[2][1] = 3;
  rows[3][2] = 2;
  rows[4][1] = 2.9F;
  const PointFeatures features = features_of(rows);
  EXPECT_EQ(most_different(features, 3), (std::vector<std::size_t>{2, 3, 0}));
  auto all = most_different(features, 10);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(most_different(PointFeatures(4, 0), 3).empty());
}

}  // namespace
}  // namespace quiver::engine

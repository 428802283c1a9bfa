#include "encoders/features/translation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace quiver::encoders {
namespace {

std::vector<float> unit_rows(std::size_t n, std::size_t dim, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> rows(n * dim);
  for (std::size_t i = 0; i < n; ++i) {
    double square = 0;
    for (std::size_t d = 0; d < dim; ++d) {
      float& value = rows[i * dim + d];
      value = normal(random);
      square += double{value} * value;
    }
    for (std::size_t d = 0; d < dim; ++d) {
      rows[i * dim + d] /= static_cast<float>(std::sqrt(square));
    }
  }
  return rows;
}

/// A map that is not linear, `[n, out_dim]`.
std::vector<float> mapped(const std::vector<float>& rows, std::size_t dim, std::size_t out_dim) {
  std::vector<float> out;
  for (std::size_t i = 0; i < rows.size() / dim; ++i) {
    const float* x = rows.data() + i * dim;
    for (std::size_t d = 0; d < out_dim; ++d) {
      out.push_back(1.5F * x[d % dim] - x[(d + 1) % dim] * x[(d + 2) % dim] + 0.25F);
    }
  }
  return out;
}

/// Ridge regression on centred likenesses, by Gaussian elimination in double precision.
std::vector<double> reference(const std::vector<float>& from, std::size_t dim,
                              const std::vector<float>& to, std::size_t to_dim, std::size_t m,
                              const std::vector<float>& rows) {
  const std::size_t n = from.size() / dim;
  std::vector<double> mean(dim);
  for (std::size_t i = 0; i < from.size(); ++i) mean[i % dim] += from[i] / static_cast<double>(n);
  double width = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    width += 2 * std::pow(from[i] - mean[i % dim], 2) / static_cast<double>(n);
  }
  const auto likeness = [&](const float* x, std::size_t a) {
    double distance = 0;
    for (std::size_t d = 0; d < dim; ++d) distance += std::pow(double{x[d]} - from[a * dim + d], 2);
    return std::exp(-distance / width);
  };
  std::vector<double> usual(m);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t a = 0; a < m; ++a) {
      usual[a] += likeness(from.data() + i * dim, a) / static_cast<double>(n);
    }
  }
  std::vector<double> to_mean(to_dim);
  for (std::size_t i = 0; i < to.size(); ++i) to_mean[i % to_dim] += to[i] / static_cast<double>(n);
  std::vector<std::vector<double>> system(m, std::vector<double>(m + to_dim));
  for (std::size_t a = 0; a < m; ++a) {
    for (std::size_t b = 0; b < m; ++b) system[a][b] = 0.01 * likeness(from.data() + a * dim, b);
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> row(m);
    for (std::size_t a = 0; a < m; ++a) row[a] = likeness(from.data() + i * dim, a) - usual[a];
    for (std::size_t a = 0; a < m; ++a) {
      for (std::size_t b = 0; b < m; ++b) system[a][b] += row[a] * row[b];
      for (std::size_t d = 0; d < to_dim; ++d) {
        system[a][m + d] += row[a] * (to[i * to_dim + d] - to_mean[d]);
      }
    }
  }
  for (std::size_t a = 0; a < m; ++a) {
    for (std::size_t b = 0; b < m; ++b) {
      if (b == a) continue;
      const double factor = system[b][a] / system[a][a];
      for (std::size_t c = a; c < m + to_dim; ++c) system[b][c] -= factor * system[a][c];
    }
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < rows.size() / dim; ++i) {
    for (std::size_t d = 0; d < to_dim; ++d) {
      double value = to_mean[d];
      for (std::size_t a = 0; a < m; ++a) {
        value += (likeness(rows.data() + i * dim, a) - usual[a]) * system[a][m + d] / system[a][a];
      }
      out.push_back(value);
    }
  }
  return out;
}

TEST(Translation, IsRidgeRegressionOnLikenesses) {
  constexpr std::size_t kFrom = 5, kTo = 7, kPairs = 1300, kAnchors = 24;
  const auto from = unit_rows(kPairs, kFrom, 1);
  const auto to = mapped(from, kFrom, kTo);
  const auto rows = unit_rows(40, kFrom, 2);
  const auto translation = Translation::fit(from, kFrom, to, kTo, kAnchors, Cancel());
  ASSERT_TRUE(translation) << translation.error().message();
  std::vector<float> found(40 * kTo);
  translation->apply(rows, 40, found);
  const auto wanted = reference(from, kFrom, to, kTo, kAnchors, rows);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 2e-3) << i;
}

TEST(Translation, LearnsAMapThatIsNotLinear) {
  constexpr std::size_t kFrom = 6, kTo = 9;
  const auto from = unit_rows(2000, kFrom, 3);
  const auto rows = unit_rows(100, kFrom, 4);
  const auto translation =
      Translation::fit(from, kFrom, mapped(from, kFrom, kTo), kTo, 300, Cancel());
  ASSERT_TRUE(translation);
  std::vector<float> found(100 * kTo);
  translation->apply(rows, 100, found);
  const auto wanted = mapped(rows, kFrom, kTo);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 0.05) << i;
}

TEST(Translation, KeepsTheLengthThatAllVectorsHave) {
  constexpr std::size_t kDims = 8;
  const auto from = unit_rows(400, kDims, 5);
  const auto to = unit_rows(400, kDims, 6);  // unrelated: estimates are near the mean
  const auto translation = Translation::fit(from, kDims, to, kDims, 64, Cancel());
  ASSERT_TRUE(translation);
  std::vector<float> found(from.size());
  translation->apply(from, 400, found);
  for (std::size_t i = 0; i < 400; ++i) {
    double square = 0;
    for (std::size_t d = 0; d < kDims; ++d) square += std::pow(found[i * kDims + d], 2);
    EXPECT_NEAR(square, 1, 1e-4);
  }
}

TEST(Translation, EachRowIsEstimatedByItself) {
  constexpr std::size_t kDims = 6;
  const auto from = unit_rows(500, kDims, 7);
  const auto translation =
      Translation::fit(from, kDims, mapped(from, kDims, kDims), kDims, 100, Cancel());
  ASSERT_TRUE(translation);
  std::vector<float> all(from.size());
  translation->apply(from, 500, all);
  for (const std::size_t i : {0, 1, 77, 499}) {
    std::vector<float> one(kDims);
    translation->apply(std::span(from).subspan(i * kDims, kDims), 1, one);
    EXPECT_EQ(one, std::vector(all.begin() + i * kDims, all.begin() + (i + 1) * kDims));
  }
}

TEST(Translation, EqualAnchorsDoNoHarm) {
  constexpr std::size_t kDims = 4;
  auto from = unit_rows(300, kDims, 8);
  for (std::size_t i = 0; i < 50 * kDims; ++i) from[i] = from[i % kDims];
  const auto translation = Translation::fit(from, kDims, mapped(from, kDims, 3), 3, 60, Cancel());
  ASSERT_TRUE(translation);
  std::vector<float> found(300 * 3);
  translation->apply(from, 300, found);
  for (const float value : found) EXPECT_TRUE(std::isfinite(value));
}

TEST(Translation, RefusesWhatItCannotLearnFrom) {
  const auto few = unit_rows(99, 4, 9);
  const auto refused = Translation::fit(few, 4, few, 4, 10, Cancel());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  EXPECT_NE(refused.error().message().find("99 pairs"), std::string::npos);
  const std::vector<float> equal(200 * 4, 0.5F);
  EXPECT_FALSE(Translation::fit(equal, 4, equal, 4, 10, Cancel()));
  const auto many = unit_rows(200, 4, 10);
  Cancel cancel;
  cancel.cancel();
  EXPECT_EQ(Translation::fit(many, 4, many, 4, 10, cancel).error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::encoders

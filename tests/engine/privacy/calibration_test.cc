// Noise against delta by its definition, and against the analytic Gaussian mechanism.
#include "engine/privacy/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace quiver::engine::testing {
namespace {

constexpr double kEpsilons[] = {0.001, 0.1, 1, 5, 50};
constexpr double kDeltas[] = {1e-15, 1e-9, 1e-6, 1e-2};

double share_below(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

/// Delta of continuous Gaussian noise at sensitivity 1: Balle and Wang 2018, theorem 8.
double analytic_delta(double deviation, double epsilon) {
  return share_below(1 / (2 * deviation) - epsilon * deviation) -
         std::exp(epsilon) * share_below(-1 / (2 * deviation) - epsilon * deviation);
}

/// Delta of discrete Gaussian noise on one whole number at sensitivity `step`, by definition.
double delta_by_definition(double deviation, int step, double epsilon) {
  const int n = static_cast<int>(std::ceil(40 * deviation)) + step;
  double total = 0;
  double delta = 0;
  const auto weight = [&](double i) { return std::exp(-i * i / (2 * deviation * deviation)); };
  for (int i = -n; i <= n; ++i) total += weight(i);
  for (int i = -n; i <= n; ++i) {
    delta += std::max(0.0, weight(i - step) - std::exp(epsilon) * weight(i));
  }
  return delta / total;
}

TEST(PrivacyCalibration, TheBoundIsTheLeastOfAllAlphas) {
  for (const double rho : {1e-4, 0.01, 0.3, 4.0}) {
    for (const double epsilon : kEpsilons) {
      double least = 1;
      for (double log_excess = -12; log_excess < 16; log_excess += 1e-3) {
        const double alpha = 1 + std::exp(log_excess);
        least = std::min(least, std::exp((alpha - 1) * (alpha * rho - epsilon) +
                                         alpha * std::log1p(-1 / alpha) - std::log(alpha - 1)));
      }
      EXPECT_LE(delta_of(rho, epsilon), 1.0001 * least + 1e-300) << rho << " " << epsilon;
    }
  }
}

TEST(PrivacyCalibration, NoiseIsEnoughAndNotMuchMoreThanTheAnalyticGaussian) {
  for (const double epsilon : kEpsilons) {
    for (const double delta : kDeltas) {
      const double deviation = noise_deviation(epsilon, delta);
      EXPECT_LE(analytic_delta(deviation, epsilon), delta) << epsilon << " " << delta;
      if (delta <= 1e-6) {
        EXPECT_GT(analytic_delta(deviation / 1.15, epsilon), delta) << epsilon << " " << delta;
      }
    }
  }
}

TEST(PrivacyCalibration, DiscreteNoiseKeepsItsWordByDefinition) {
  for (const int step : {1, 3, 50}) {
    for (const double epsilon : {0.1, 1.0, 5.0}) {
      for (const double delta : {1e-9, 1e-6, 1e-2}) {
        const double deviation = step * noise_deviation(epsilon, delta);
        EXPECT_LE(delta_by_definition(deviation, step, epsilon), delta)
            << step << " " << epsilon << " " << delta;
      }
    }
  }
}

TEST(PrivacyCalibration, TheClassicFormulaIsTooSmallForLargeEpsilon) {
  const double classic = std::sqrt(2 * std::log(1.25 / 1e-6)) / 20;
  EXPECT_GT(analytic_delta(classic, 20), 1e-6);
  EXPECT_GT(noise_deviation(20, 1e-6), classic);
}

TEST(PrivacyCalibration, LessOfEitherWantsMoreNoise) {
  for (std::size_t i = 1; i < std::size(kEpsilons); ++i) {
    EXPECT_LT(noise_deviation(kEpsilons[i], 1e-6), noise_deviation(kEpsilons[i - 1], 1e-6));
  }
  for (std::size_t i = 1; i < std::size(kDeltas); ++i) {
    EXPECT_LT(noise_deviation(1, kDeltas[i]), noise_deviation(1, kDeltas[i - 1]));
  }
}

}  // namespace
}  // namespace quiver::engine::testing

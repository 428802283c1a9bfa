#include "engine/privacy/calibration.h"

#include <algorithm>
#include <cmath>

namespace quiver::engine {
namespace {

/// More do not change a double.
constexpr int kHalvings = 64;
/// Rounding errors of the search are far below it.
constexpr double kSafetyMargin = 1e-9;

/// Every `alpha` > 1 gives a bound; this is the logarithm of that bound.
double log_delta(double rho, double epsilon, double alpha) {
  return (alpha - 1) * (alpha * rho - epsilon) + alpha * std::log1p(-1 / alpha) -
         std::log(alpha - 1);
}

}  // namespace

double delta_of(double rho, double epsilon) {
  if (rho <= 0) return 0;
  double low = 1 + 1e-6;
  double high = (epsilon + 1) / (2 * rho) + 2;
  for (int i = 0; i < kHalvings; ++i) {
    const double alpha = (low + high) / 2;
    const double slope = (2 * alpha - 1) * rho - epsilon + std::log1p(-1 / alpha);
    (slope < 0 ? low : high) = alpha;
  }
  return std::min(1.0, std::exp(log_delta(rho, epsilon, high)));
}

double noise_deviation(double epsilon, double delta) {
  double low = 0;             // of rho: private enough
  double high = epsilon + 1;  // not private enough, with the loop below
  while (delta_of(high, epsilon) <= delta) high *= 2;
  for (int i = 0; i < kHalvings; ++i) {
    const double rho = (low + high) / 2;
    (delta_of(rho, epsilon) <= delta ? low : high) = rho;
  }
  return (1 + kSafetyMargin) / std::sqrt(2 * low);
}

}  // namespace quiver::engine

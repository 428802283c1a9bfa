// An average that follows the last dozen values and distrusts a single large one.
#pragma once

#include <algorithm>

namespace quiver::service::api::load {

/// The average of times in ns after `value`, which counts for an eighth. A value counts as at most
/// eight times the average: a thread that stands still once does not make all work look slow.
[[nodiscard]] inline double moved_average(double average, double value) {
  constexpr double kShare = 0.125;
  constexpr double kMaxGrowth = 8;
  constexpr double kShortest = 1000;  // so that an average of 0 can grow
  const double most = kMaxGrowth * std::max(average, kShortest);
  return average + kShare * (std::min(value, most) - average);
}

}  // namespace quiver::service::api::load

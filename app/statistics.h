// Order statistics of a few numbers.
#pragma once

#include <span>
#include <vector>

namespace quiver::app {

/// Of ascending values, as `percentile`.
[[nodiscard]] double percentile_of_sorted(std::span<const double> values, double share);
/// By nearest rank: the smallest value that at least `share` of them do not exceed; 0 for none.
[[nodiscard]] double percentile(std::vector<double> values, double share);
/// The mean of the two middle ones if their number is even; 0 for none.
[[nodiscard]] double median(std::vector<double> values);
/// (largest - smallest) / median; 0 for none.
[[nodiscard]] double spread(const std::vector<double>& values);

}  // namespace quiver::app

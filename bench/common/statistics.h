// Order statistics of repeated measurements. Each returns 0 for no values.
#pragma once

#include <span>
#include <vector>

namespace quiver::bench {

/// Like `percentile`, for ascending values.
[[nodiscard]] double percentile_of_sorted(std::span<const double> values, double share);
/// Nearest rank: the smallest value `v` such that at least `share` of the values are <= `v`.
[[nodiscard]] double percentile(std::vector<double> values, double share);
/// For an even number of values, the mean of the two middle ones.
[[nodiscard]] double median(std::vector<double> values);
/// (largest - smallest) / median.
[[nodiscard]] double spread(const std::vector<double>& values);

}  // namespace quiver::bench

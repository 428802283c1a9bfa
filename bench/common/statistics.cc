#include "bench/common/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace quiver::bench {

namespace {

std::size_t rank_of(std::size_t n, double share) {
  const auto rank = std::ceil(share * static_cast<double>(n));
  return static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
}

}  // namespace

double percentile_of_sorted(std::span<const double> values, double share) {
  return values.empty() ? 0 : values[rank_of(values.size(), share)];
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank_of(values.size(), share));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double spread(const std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double middle = median(values);
  return middle > 0 ? (*most - *least) / middle : 0;
}

}  // namespace quiver::bench

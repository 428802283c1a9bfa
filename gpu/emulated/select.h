// Selection among scores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace quiver::gpu::emulated {

/// The score of what is not there.
inline constexpr float kNone = -std::numeric_limits<float>::infinity();

/// The k-th largest value; `kNone` if there are fewer. Reorders `values`.
inline float kth_largest(std::vector<float>& values, std::size_t k) {
  if (values.size() < k || k == 0) return kNone;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(values.begin(), nth, values.end(), std::greater<>());
  return *nth;
}

}  // namespace quiver::gpu::emulated

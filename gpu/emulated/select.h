// Selection among scores, and which rows may be selected.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "gpu/abi.h"

namespace quiver::gpu::emulated {

/// The score of what is not there.
inline constexpr float kNone = -std::numeric_limits<float>::infinity();

/// Whether a query with that mask may name the row.
inline bool allows(const qv_masks& masks, std::uint32_t mask, std::uint64_t n_rows,
                   std::uint64_t row) {
  if (mask == QV_ALL_ROWS) return true;
  return (masks.words[mask * ((n_rows + 63) / 64) + row / 64] >> (row % 64) & 1) != 0;
}

/// The k-th largest value; `kNone` if there are fewer. Reorders `values`.
inline float kth_largest(std::vector<float>& values, std::size_t k) {
  if (values.size() < k || k == 0) return kNone;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(values.begin(), nth, values.end(), std::greater<>());
  return *nth;
}

}  // namespace quiver::gpu::emulated

// What tests of k-means over bytes share: rows of random codes, and distances by the definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "index/dense/lists/kmeans/rows.h"
#include "tests/index/support.h"

namespace quiver::index::dense::testing {

using quiver::index::testing::Random;

/// Codes around `n_clumps` points, row i around point i % n_clumps.
[[nodiscard]] inline ByteMatrix clumped_codes(std::size_t n, std::uint32_t dim,
                                              std::size_t n_clumps, Random& random) {
  std::vector<int> points(n_clumps * dim);
  for (int& value : points) value = 20 + static_cast<int>(random() % 216);
  ByteMatrix rows(n, dim);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t d = 0; d < dim; ++d) {
      const int value = points[i % n_clumps * dim + d] + static_cast<int>(random() % 17) - 8;
      rows.at(i)[d] = static_cast<std::uint8_t>(value);
    }
  }
  return rows;
}

/// In units of codes.
[[nodiscard]] inline double squared_distance(const std::uint8_t* row, const float* centre,
                                             std::uint32_t dim) {
  double sum = 0;
  for (std::uint32_t d = 0; d < dim; ++d) {
    const double difference = double{value_of(row[d])} - centre[d];
    sum += difference * difference;
  }
  return sum;
}

/// The squared distance of a row from the nearest of `means`, `[n, dim]`.
[[nodiscard]] inline double nearest_squared_distance(const std::uint8_t* row,
                                                     std::span<const float> means,
                                                     std::uint32_t dim) {
  double least = HUGE_VAL;
  for (std::size_t first = 0; first < means.size(); first += dim) {
    least = std::min(least, squared_distance(row, means.data() + first, dim));
  }
  return least;
}

}  // namespace quiver::index::dense::testing

// Rows in memory for tests of k-means.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "index/dense/lists/kmeans/rows.h"

namespace quiver::index::dense::testing {

/// Codes near `n_centres` random points, row i near point i % n_centres.
inline ByteMatrix clumped_codes(std::size_t n, std::uint32_t dim, std::size_t n_centres,
                                std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> centres(n_centres * dim);
  for (auto& value : centres) value = static_cast<std::uint8_t>(20 + random() % 216);
  ByteMatrix codes(n, dim);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::uint32_t d = 0; d < dim; ++d) {
      codes.at(i)[d] =
          static_cast<std::uint8_t>(centres[i % n_centres * dim + d] + random() % 9 - 4);
    }
  }
  return codes;
}

inline double squared_distance(const std::uint8_t* row, const float* mean, std::uint32_t dim) {
  double sum = 0;
  for (std::uint32_t d = 0; d < dim; ++d) {
    const double difference = value_of(row[d]) - mean[d];
    sum += difference * difference;
  }
  return sum;
}

/// The nearest of `means`, `[n, dim]` in units of codes, compared one by one.
inline std::uint32_t nearest_mean(const std::uint8_t* row, const std::vector<float>& means,
                                  std::uint32_t dim) {
  std::uint32_t best = 0;
  for (std::uint32_t c = 1; c < means.size() / dim; ++c) {
    const double distance = squared_distance(row, means.data() + std::size_t{c} * dim, dim);
    if (distance < squared_distance(row, means.data() + std::size_t{best} * dim, dim)) best = c;
  }
  return best;
}

}  // namespace quiver::index::dense::testing

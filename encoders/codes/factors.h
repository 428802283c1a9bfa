// Turns estimated scalar products into scores, for codes that estimate <q, x> as f <q, y>:
// -|q - x|^2 = 2 <q, x> - |x|^2 - |q|^2. The row's factors are stored with it.
#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/kernels.h"

namespace quiver::encoders {

/// `number / size`, or 0 for a size below 1e-35, where the quotient might not be finite.
[[nodiscard]] inline float per(float size, float number) {
  return size > 1e-35f ? number / size : 0.0f;
}

struct RowFactors {
  float scale = 0;
  float add = 0;
};

[[nodiscard]] inline float squared_norm(const float* values, std::size_t n) {
  const double norm = kernels().convert.norm(values, n);
  return static_cast<float>(norm * norm);
}

[[nodiscard]] inline RowFactors factors_of(bool is_distance, float scale, const float* row,
                                           std::size_t dim) {
  if (!is_distance) return {scale, 0.0f};
  return {2 * scale, -squared_norm(row, dim)};
}

[[nodiscard]] inline float base_of(bool is_distance, const float* query, std::size_t dim) {
  return is_distance ? -squared_norm(query, dim) : 0.0f;
}

}  // namespace quiver::encoders

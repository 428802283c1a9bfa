// One stored value as f32, for the generic level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/half.h"

namespace quiver {

struct StoredF32 {
  static float at(const std::byte* row, std::size_t i) {
    float value;
    std::memcpy(&value, row + i * sizeof value, sizeof value);
    return value;
  }
};

struct StoredF16 {
  static float at(const std::byte* row, std::size_t i) {
    std::uint16_t value;
    std::memcpy(&value, row + i * sizeof value, sizeof value);
    return half_to_float(value);
  }
};

struct StoredU8 {
  static float at(const std::byte* row, std::size_t i) { return static_cast<float>(row[i]); }
};

struct StoredI8 {
  static float at(const std::byte* row, std::size_t i) {
    return static_cast<float>(static_cast<std::int8_t>(row[i]));
  }
};

struct StoredBf16 {
  static float at(const std::byte* row, std::size_t i) {
    std::uint16_t value;
    std::memcpy(&value, row + i * sizeof value, sizeof value);
    return bf16_to_float(value);
  }
};

/// Terms of the three similarities; `finish` negates the sums of distances.
struct DotTerm {
  static float add(float sum, float q, float r) { return sum + q * r; }
  static float finish(float sum) { return sum; }
};

struct L2Term {
  static float add(float sum, float q, float r) { return sum + (q - r) * (q - r); }
  static float finish(float sum) { return 0.0f - sum; }
};

struct L1Term {
  static float add(float sum, float q, float r) { return sum + (q < r ? r - q : q - r); }
  static float finish(float sum) { return 0.0f - sum; }
};

}  // namespace quiver

// Random rows and queries for timings, with values that vectors have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "bench/micro/yardstick.h"
#include "kernels/kernels.h"

namespace quiver {

enum class Values { kBytes, kF32, kF16, kBf16 };

constexpr std::size_t bytes_per_value(Values values) {
  return values == Values::kF32 ? 4 : values == Values::kBytes ? 1 : 2;
}

/// Floats are uniform in [-1, 1): random bits would make half of the products of f32 subnormal,
/// which some processors multiply in microcode, at a hundred times the cost.
inline void fill_floats(std::mt19937& random, Values values, std::size_t n, std::byte* to) {
  std::vector<float> floats(n);
  for (float& value : floats) value = static_cast<float>(random() >> 8) * 0x1p-23F - 1.0F;
  auto* halves = reinterpret_cast<std::uint16_t*>(to);
  if (values == Values::kF16) kernels().convert.f32_to_f16(floats.data(), n, halves);
  if (values == Values::kBf16) kernels().convert.f32_to_bf16(floats.data(), n, halves);
  if (values == Values::kF32) std::copy(floats.begin(), floats.end(), reinterpret_cast<float*>(to));
}

/// Allocates `n_bytes`, rounded up to a multiple of 512, on a 64-byte boundary.
inline Memory random_memory(std::size_t n_bytes, Values values) {
  constexpr std::size_t kChunk = 4096;
  n_bytes = (n_bytes + 511) / 512 * 512;
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(64, n_bytes)));
  std::mt19937 random(7);
  for (std::size_t at = 0; at < n_bytes; at += kChunk) {
    const std::size_t n = std::min(kChunk, n_bytes - at);
    if (values == Values::kBytes) {
      std::generate_n(memory.get() + at, n, [&] { return static_cast<std::byte>(random()); });
    } else {
      fill_floats(random, values, n / bytes_per_value(values), memory.get() + at);
    }
  }
  return memory;
}

}  // namespace quiver

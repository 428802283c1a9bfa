// Limits of the processor's ports, measured beside the kernels: products on registers alone, and
// look-ups in a table. A limit whose instruction the processor lacks is printed as nan.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/target.h"

namespace quiver {

inline volatile std::int32_t g_code_sink;
inline volatile float g_float_sink;

constexpr std::size_t kPeakChains = 12;  // independent, so that latency does not show

/// `n_rounds` times 12 products and sums of 16 f32: 384 operations a round.
__attribute__((target("avx512f"))) inline void multiply_add_floats(std::size_t n_rounds) {
  __m512 sums[kPeakChains];
  QV_UNROLL for (auto& sum : sums) sum = _mm512_set1_ps(g_float_sink);
  const __m512 a = _mm512_set1_ps(g_float_sink + 0.5f);
  for (std::size_t round = 0; round < n_rounds; ++round) {
    QV_UNROLL for (auto& sum : sums) {
      sum = _mm512_fmadd_ps(sum, a, a);
      __asm__ volatile("" : "+v"(sum));  // keeps each sum in its register, and the loop as it is
    }
  }
  QV_UNROLL for (std::size_t i = 1; i < kPeakChains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  g_float_sink = _mm512_cvtss_f32(sums[0]) * 0.0f;
}
constexpr std::size_t kFloatOperationsPerRound = kPeakChains * 16 * 2;

/// The same of 8 f32: 192 operations a round.
__attribute__((target("avx2,fma"))) inline void multiply_add_floats_by_8(std::size_t n_rounds) {
  __m256 sums[kPeakChains];
  QV_UNROLL for (auto& sum : sums) sum = _mm256_set1_ps(g_float_sink);
  const __m256 a = _mm256_set1_ps(g_float_sink + 0.5f);
  for (std::size_t round = 0; round < n_rounds; ++round) {
    QV_UNROLL for (auto& sum : sums) {
      sum = _mm256_fmadd_ps(sum, a, a);
      __asm__ volatile("" : "+v"(sum));
    }
  }
  QV_UNROLL for (std::size_t i = 1; i < kPeakChains; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  g_float_sink = _mm256_cvtss_f32(sums[0]) * 0.0f;
}

/// The same with u8 x i8 by four into i32: 1,536 operations a round.
__attribute__((target("avx512f,avx512vnni"))) inline void multiply_add_codes(std::size_t n_rounds) {
  __m512i sums[kPeakChains];
  QV_UNROLL for (auto& sum : sums) sum = _mm512_set1_epi32(g_code_sink);
  const __m512i a = _mm512_set1_epi32(g_code_sink + 1);
  for (std::size_t round = 0; round < n_rounds; ++round) {
    QV_UNROLL for (auto& sum : sums) {
      sum = _mm512_dpbusd_epi32(sum, a, a);
      __asm__ volatile("" : "+v"(sum));
    }
  }
  QV_UNROLL for (std::size_t i = 1; i < kPeakChains; ++i) sums[0] =
      _mm512_add_epi32(sums[0], sums[i]);
  std::int32_t lanes[16];
  _mm512_storeu_si512(lanes, sums[0]);
  g_code_sink = lanes[0];
}
constexpr std::size_t kCodeOperationsPerRound = kPeakChains * 64 * 2;

/// An instruction on registers alone, and its rate.
struct Peak {
  void (*loop)(std::size_t n_rounds) = nullptr;  ///< null: the processor has no such instruction
  double operations_per_round = 0;

  void run(std::size_t n_rounds) const {
    if (loop != nullptr) loop(n_rounds);
  }
  /// Returns operations a second.
  [[nodiscard]] double rate(std::size_t n_rounds, double seconds) const {
    if (loop == nullptr) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(n_rounds) * operations_per_round / seconds;
  }
};

inline Peak float_peak() {
  if (__builtin_cpu_supports("avx512f")) return {multiply_add_floats, kFloatOperationsPerRound};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {multiply_add_floats_by_8, kFloatOperationsPerRound / 2.0};
  }
  return {};
}

inline Peak code_peak() {
  if (!__builtin_cpu_supports("avx512vnni")) return {};
  return {multiply_add_codes, kCodeOperationsPerRound};
}

/// Looks all `indices` up in `table` by gather instructions, four independent sums; `n` is a
/// multiple of 64.
__attribute__((target("avx512f"))) inline void gather(const float* table,
                                                      const std::uint32_t* indices, std::size_t n) {
  __m512 sums[4];
  QV_UNROLL for (auto& sum : sums) sum = _mm512_setzero_ps();
  for (std::size_t i = 0; i < n; i += 64) {
    QV_UNROLL for (std::size_t s = 0; s < 4; ++s) {
      const __m512i at = _mm512_loadu_si512(indices + i + 16 * s);
      sums[s] = _mm512_add_ps(sums[s],
                              _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, at, table, 4));
    }
  }
  QV_UNROLL for (std::size_t s = 1; s < 4; ++s) sums[0] = _mm512_add_ps(sums[0], sums[s]);
  g_float_sink = _mm512_cvtss_f32(sums[0]) * 0.0f;
}

/// The same, one by one.
inline void load_each(const float* table, const std::uint32_t* indices, std::size_t n) {
  float sums[4] = {};
  for (std::size_t i = 0; i < n; i += 4) {
    for (std::size_t s = 0; s < 4; ++s) sums[s] += table[indices[i + s]];
  }
  g_float_sink = (sums[0] + sums[1] + sums[2] + sums[3]) * 0.0f;
}

inline void look_up(const float* table, const std::uint32_t* indices, std::size_t n) {
  static const auto best = __builtin_cpu_supports("avx512f") ? gather : load_each;
  best(table, indices, n);
}

}  // namespace quiver

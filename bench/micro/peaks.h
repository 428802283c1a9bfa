// What the processor's ports can deliver, measured beside what a kernel makes of them: products
// from registers alone, and look-ups in a table.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

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

/// Looks all `indices` up in `table` by gather instructions, four independent sums; `n` is a
/// multiple of 64.
__attribute__((target("avx512f"))) inline void look_up(const float* table,
                                                       const std::uint32_t* indices,
                                                       std::size_t n) {
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

}  // namespace quiver

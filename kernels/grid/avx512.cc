// A value is scaled, rounded down and clamped; grid points are half a step above. The sixteen lanes
// of a register are the sixteen partial sums that every level has. The body is steps.inc.
//
// vrndscaleps zmm: latency 3 on Zen 4, 8 on Golden Cove, one per cycle on both; vmaxps, vminps zmm:
// 2 and 4; vmulps: 3 and 4; vaddps: 3, and 3 to 4; one per cycle on Zen 4, two on Golden Cove.
// vpmovdb zmm: one in two cycles on Golden Cove. `largest` keeps four maxima, because a single one
// is a chain of dependent steps (.11 ns). `measure` keeps one register for each sum: the ten
// operations of a step take longer than the latency of an addition.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians; ns a value, 2,048 values in L1.
// Percentages: time of the loop's instructions on registers alone, divided by the measured time.
// largest .052 (87 % of the bandwidth of reading them), measure .20 (86 %), encode .19 (85 %).
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

using Vec = __m512;
constexpr std::size_t kLanes = 16;

QV_INLINE __mmask16 first(std::size_t n) { return static_cast<__mmask16>((1u << n) - 1u); }
QV_INLINE Vec load(const float* from) { return _mm512_loadu_ps(from); }
QV_INLINE Vec load_some(const float* from, std::size_t n) {
  return _mm512_maskz_loadu_ps(first(n), from);
}
QV_INLINE Vec broadcast(float value) { return _mm512_set1_ps(value); }
QV_INLINE Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
QV_INLINE Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
QV_INLINE Vec floor_of(Vec v) {
  return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
QV_INLINE Vec least(Vec a, Vec b) { return _mm512_min_ps(a, b); }
QV_INLINE Vec greatest(Vec a, Vec b) { return _mm512_max_ps(a, b); }
QV_INLINE Vec magnitude(Vec v) { return _mm512_abs_ps(v); }
QV_INLINE Vec only_first(Vec v, std::size_t n) { return _mm512_maskz_mov_ps(first(n), v); }

QV_INLINE float sum_of(Vec v) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

QV_INLINE float largest_of(Vec v) { return _mm512_reduce_max_ps(v); }

QV_INLINE void store_bytes(std::uint8_t* to, Vec v, std::size_t n) {
  const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(v));
  _mm_mask_storeu_epi8(to, first(n), bytes);
}

#include "kernels/grid/steps.inc"

}  // namespace

constinit const GridKernels kGridKernels = {largest, measure, encode};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

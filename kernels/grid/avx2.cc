// Like avx512.cc, with sixteen lanes in two registers. Codes are packed twice, with one permutation
// in between that puts them in order.
//
// vroundps ymm: latency 3 on Zen 4, 8 on Golden Cove, two per cycle and one; vmaxps, vminps ymm: 2
// and 4; vmulps: 3 and 4; vaddps: 3 and 2 to 3; two per cycle on both. vpackusdw, vpermq: 3 on
// Golden Cove, one per cycle. `largest` keeps eight maxima in registers; `measure` keeps two
// registers for each sum.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians; ns a value, 2,048 values in L1, and
// the share of what the instructions of a loop take on registers alone: largest .059 (98 %; with
// two registers .12), measure .28 (92 %), encode .26 (91 %).
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

// Sixteen lanes in two registers.
struct Vec {
  __m256 low;
  __m256 high;
};
constexpr std::size_t kLanes = 16;

QV_INLINE Vec load(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
QV_INLINE Vec load_some(const float* from, std::size_t n) {
  float values[kLanes] = {};
  std::memcpy(values, from, n * sizeof(float));
  return load(values);
}
QV_INLINE Vec broadcast(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
QV_INLINE Vec add(Vec a, Vec b) {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
QV_INLINE Vec mul(Vec a, Vec b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
QV_INLINE Vec floor_of(Vec v) { return {_mm256_floor_ps(v.low), _mm256_floor_ps(v.high)}; }
QV_INLINE Vec least(Vec a, Vec b) {
  return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
QV_INLINE Vec greatest(Vec a, Vec b) {
  return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
QV_INLINE Vec magnitude(Vec v) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, v.low), _mm256_andnot_ps(sign, v.high)};
}
QV_INLINE Vec only_first(Vec v, std::size_t n) {
  float values[kLanes];
  _mm256_storeu_ps(values, v.low);
  _mm256_storeu_ps(values + 8, v.high);
  return load_some(values, n);
}

QV_INLINE float sum_of(Vec v) {
  const __m256 eight = _mm256_add_ps(v.low, v.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

QV_INLINE float largest_of(Vec v) {
  const __m256 eight = _mm256_max_ps(v.low, v.high);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

// Packing works within halves of registers, which the permutation puts in order.
QV_INLINE void store_bytes(std::uint8_t* to, Vec v, std::size_t n) {
  const __m256i words =
      _mm256_packus_epi32(_mm256_cvttps_epi32(v.low), _mm256_cvttps_epi32(v.high));
  const __m256i ordered = _mm256_permute4x64_epi64(words, 0b11011000);
  const __m128i bytes =
      _mm_packus_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
  if (n == kLanes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  } else {
    std::uint8_t all[kLanes];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(all), bytes);
    std::memcpy(to, all, n);
  }
}

#include "kernels/grid/steps.inc"

}  // namespace

constinit const GridKernels kGridKernels = {largest, measure, encode};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

// Signs: a tile of 8 tokens and 3 words of 16 planes takes three loads and eight broadcasts for 24
// vpdpbusd (planes u8, tokens i8). Sums of tokens keep eight lines in registers for a whole range
// of tokens. So each token is read once and only the sum is written.
//
// vpdpbusd zmm: latency 4 on Zen 4, 5 to 6 on Golden Cove, one per cycle on Zen 4, two on Golden
// Cove. 24 sums are twice as many as hide the latency; 32 registers hold no more. vaddps zmm:
// latency 3 and 3 to 4, one and two per cycle; vpermps zmm: one per cycle on both. Sketches to one
// line take eight rows at a time, one sum for each; they share the placement of a line.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians, in cache. Percentages: time of the
// loop's instructions on registers alone, divided by the measured time. sign_words 68 ns a token of
// 128 dimensions and 96 planes (96 %), pool .042 ns a value, four tokens a range (85 % of the
// bandwidth of reading as many bytes), sketch to a line .096 a value (67 %); a row of 512 lines to
// 64 .39 (43 % of that bandwidth), because its placements serve no other row.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

#include "kernels/unroll.inc"

constexpr std::size_t kTileTokens = 8;
constexpr std::size_t kTileWords = 3;
using Products = __m512i;
using PlaneStep = __m512i;
using TokenStep = __m512i;

QV_INLINE Products all(std::int32_t value) { return _mm512_set1_epi32(value); }
QV_INLINE PlaneStep load_step(const std::uint8_t* from) { return _mm512_loadu_si512(from); }
QV_INLINE TokenStep token_step(const std::int8_t* from) {
  std::int32_t four;
  __builtin_memcpy(&four, from, sizeof four);
  return _mm512_set1_epi32(four);
}
QV_INLINE Products add_products(Products sum, PlaneStep planes, TokenStep values) {
  sum = _mm512_dpbusd_epi32(sum, planes, values);
  QV_KEEP(sum);
  return sum;
}
QV_INLINE std::uint16_t positive(Products products) {
  return _mm512_cmpgt_epi32_mask(products, _mm512_setzero_si512());
}

#include "kernels/sets/signs.inc"

using Vec = __m512;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kPanel = 8;
constexpr std::size_t kSketchRows = 8;

QV_INLINE Vec broadcast(float value) { return _mm512_set1_ps(value); }
QV_INLINE Vec zero() { return _mm512_setzero_ps(); }
QV_INLINE Vec load(const float* from) { return _mm512_loadu_ps(from); }
QV_INLINE void store(float* to, Vec v) { _mm512_storeu_ps(to, v); }
QV_INLINE Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
QV_INLINE Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }

QV_INLINE float sum_of(Vec v) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

struct Placement {
  __m512i lanes;
  __m512 signs;
};

QV_INLINE Placement placement(const LineSketch& sketch, std::size_t line) {
  const auto* lanes = reinterpret_cast<const __m128i*>(sketch.lanes + line * kLanes);
  return {_mm512_cvtepu8_epi32(_mm_loadu_si128(lanes)),
          _mm512_castsi512_ps(_mm512_maskz_set1_epi32(sketch.signs[line], INT32_MIN))};
}

QV_INLINE Vec place(Vec v, const Placement& placed) {
  return _mm512_xor_ps(_mm512_permutexvar_ps(placed.lanes, v), placed.signs);
}

#include "kernels/sets/lines.inc"

}  // namespace

constinit const SetKernels kSetKernels = {sign_words, pool, sketch};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

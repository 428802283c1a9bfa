// Signs: a tile has 4 tokens and one word of 16 planes. vpmaddubsw would saturate. So even and odd
// bytes are widened, once for each tile, and multiplied by vpmaddwd. Sixteen lanes take two
// registers, also in sums and sketches.
//
// vpmaddwd ymm: latency 3 on Zen 4, 5 on Golden Cove, two per cycle on both. Only additions of
// latency 1 depend on each other, in 8 sums. Sums of tokens keep four lines in 8 registers. vpermps
// ymm: latency 3 on Golden Cove, one per cycle. A sketch takes four of them for sixteen values, so
// it handles one row at a time.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians, in cache. Percentages: time of the
// loop's instructions on registers alone, divided by the measured time. sign_words 490 ns a token
// of 128 dimensions and 96 planes (88 %), pool .060 ns a value, four tokens a range (61 % of the
// bandwidth of reading as many bytes), sketch to a line .38 a value (49 %), a row of 512 lines to
// 64 .58 (31 %).
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

#include "kernels/unroll.inc"

constexpr std::size_t kTileTokens = 4;
constexpr std::size_t kTileWords = 1;

struct Products {
  __m256i low;
  __m256i high;
};
// Bytes 0 and 2, and bytes 1 and 3, of each four, as i16.
struct TokenStep {
  __m256i even;
  __m256i odd;
};
struct PlaneStep {
  TokenStep low;
  TokenStep high;
};

QV_INLINE Products all(std::int32_t value) {
  return {_mm256_set1_epi32(value), _mm256_set1_epi32(value)};
}
QV_INLINE TokenStep widen(const std::uint8_t* from) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return {_mm256_and_si256(bytes, _mm256_set1_epi16(255)), _mm256_srli_epi16(bytes, 8)};
}
QV_INLINE PlaneStep load_step(const std::uint8_t* from) { return {widen(from), widen(from + 32)}; }
QV_INLINE TokenStep token_step(const std::int8_t* from) {
  std::int32_t four;
  __builtin_memcpy(&four, from, sizeof four);
  const __m256i bytes = _mm256_set1_epi32(four);
  return {_mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8), _mm256_srai_epi16(bytes, 8)};
}
QV_INLINE __m256i add_products(__m256i sum, TokenStep planes, TokenStep values) {
  const __m256i even = _mm256_madd_epi16(planes.even, values.even);
  return _mm256_add_epi32(sum, _mm256_add_epi32(even, _mm256_madd_epi16(planes.odd, values.odd)));
}
QV_INLINE Products add_products(Products sum, PlaneStep planes, TokenStep values) {
  return {add_products(sum.low, planes.low, values), add_products(sum.high, planes.high, values)};
}
QV_INLINE unsigned positive(__m256i products) {
  const __m256i set = _mm256_cmpgt_epi32(products, _mm256_setzero_si256());
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(set)));
}
QV_INLINE std::uint16_t positive(Products products) {
  return static_cast<std::uint16_t>(positive(products.low) | positive(products.high) << 8);
}

#include "kernels/sets/signs.inc"

struct Vec {
  __m256 low;
  __m256 high;
};
constexpr std::size_t kLanes = 16;
constexpr std::size_t kPanel = 4;
constexpr std::size_t kSketchRows = 1;

QV_INLINE Vec broadcast(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
QV_INLINE Vec zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
QV_INLINE Vec load(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
QV_INLINE void store(float* to, Vec v) {
  _mm256_storeu_ps(to, v.low);
  _mm256_storeu_ps(to + 8, v.high);
}
QV_INLINE Vec add(Vec a, Vec b) {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
QV_INLINE Vec mul(Vec a, Vec b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}

QV_INLINE float sum_of(Vec v) {
  const __m256 eight = _mm256_add_ps(v.low, v.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// Source of eight lanes: lane number, half (in the sign bit), and the sign to flip.
struct HalfPlacement {
  __m256i lanes;
  __m256 from_high;
  __m256 signs;
};
struct Placement {
  HalfPlacement low;
  HalfPlacement high;
};

QV_INLINE HalfPlacement half_placement(const std::uint8_t* lanes, std::uint32_t signs) {
  const __m256i wanted =
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(lanes)));
  // The bit of each lane, moved to the sign.
  const __m256i shifts = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
  const __m256i moved = _mm256_sllv_epi32(_mm256_set1_epi32(static_cast<int>(signs)), shifts);
  return {wanted, _mm256_castsi256_ps(_mm256_slli_epi32(wanted, 28)),
          _mm256_and_ps(_mm256_castsi256_ps(moved), _mm256_set1_ps(-0.0f))};
}

QV_INLINE Placement placement(const LineSketch& sketch, std::size_t line) {
  const std::uint8_t* lanes = sketch.lanes + line * kLanes;
  const std::uint32_t signs = sketch.signs[line];
  return {half_placement(lanes, signs), half_placement(lanes + 8, signs >> 8)};
}

QV_INLINE __m256 place(Vec v, const HalfPlacement& placed) {
  const __m256 low = _mm256_permutevar8x32_ps(v.low, placed.lanes);
  const __m256 high = _mm256_permutevar8x32_ps(v.high, placed.lanes);
  return _mm256_xor_ps(_mm256_blendv_ps(low, high, placed.from_high), placed.signs);
}
QV_INLINE Vec place(Vec v, const Placement& placed) {
  return {place(v, placed.low), place(v, placed.high)};
}

#include "kernels/sets/lines.inc"

}  // namespace

constinit const SetKernels kSetKernels = {sign_words, pool, sketch};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

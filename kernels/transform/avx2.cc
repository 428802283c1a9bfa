// Like avx512.cc, with eight registers of eight values: three stages inside registers and three
// between them, for one load and one store.
//
// vfmadd ymm: latency 4 on Zen 4 and Golden Cove; vaddps, vsubps: 3, and 2 to 3; two per cycle on
// both. vpermilps: 1 on both, two per cycle and one; vperm2f128: 3 on Golden Cove, one per cycle.
// There are no sums: eight registers are in flight, and eight hold ones and permutations.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians; ns a value, 2,048 values in L1.
// Percentages: time of the loop's instructions on registers alone, divided by the measured time.
// Hadamard of 1,024 values .50 (66 %), flip_signs .35 (64 %), butterfly .11 (59 % of the bandwidth
// of reading as many bytes).
#if defined(__x86_64__)
#include <immintrin.h>

#include <bit>
#include <utility>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

using Vec = __m256;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kRegisters = 8;

#include "kernels/unroll.inc"

QV_INLINE Vec load(const float* from) { return _mm256_loadu_ps(from); }
QV_INLINE void store(float* to, Vec v) { _mm256_storeu_ps(to, v); }
QV_INLINE Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
QV_INLINE Vec sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
QV_INLINE Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
QV_INLINE Vec broadcast(float value) { return _mm256_set1_ps(value); }

// Bit i moves to the sign of lane i.
QV_INLINE Vec flip(Vec v, std::uint32_t signs) {
  const __m256i shifts = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
  const __m256i bits = _mm256_sllv_epi32(_mm256_set1_epi32(static_cast<int>(signs)), shifts);
  const __m256i minus = _mm256_set1_epi32(static_cast<int>(0x80000000u));
  return _mm256_xor_ps(v, _mm256_castsi256_ps(_mm256_and_si256(bits, minus)));
}

// Each lane becomes its partner plus or minus itself: products with ones are exact.
QV_INLINE Vec within(Vec v) {
  const Vec first = _mm256_setr_ps(1, -1, 1, -1, 1, -1, 1, -1);
  const Vec second = _mm256_setr_ps(1, 1, -1, -1, 1, 1, -1, -1);
  const Vec third = _mm256_setr_ps(1, 1, 1, 1, -1, -1, -1, -1);
  v = _mm256_fmadd_ps(v, first, _mm256_permute_ps(v, 0b10110001));
  v = _mm256_fmadd_ps(v, second, _mm256_permute_ps(v, 0b01001110));
  return _mm256_fmadd_ps(v, third, _mm256_permute2f128_ps(v, v, 0b00000001));
}

#include "kernels/transform/stages.inc"

}  // namespace

constinit const TransformKernels kTransformKernels = {hadamard, flip_signs, butterfly};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

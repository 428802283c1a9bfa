// Sixteen registers of sixteen values pass eight stages between one load and one store. Four stages
// are inside registers: a permutation and a product with ones of both signs. Four are between
// registers. Stages of larger stride take sixteen registers at a time. The body is stages.inc.
//
// vfmadd zmm: latency 4 on Zen 4 and Golden Cove; vaddps, vsubps: 3, and 3 to 4; one per cycle on
// Zen 4, two on Golden Cove. vpermilps zmm: 1 on both, vshuff32x4: 3 on Golden Cove; one per cycle.
// There are no sums: sixteen registers in flight hide every latency.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians; ns a value, 2,048 values in L1.
// Percentages: time of the loop's instructions on registers alone, divided by the measured time.
// Hadamard of 1,024 values .30 (75 %), flip_signs .16 (45 % of the bandwidth of reading as many
// bytes), butterfly .060 (all of that bandwidth).
#if defined(__x86_64__)
#include <immintrin.h>

#include <bit>
#include <utility>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

using Vec = __m512;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kRegisters = 16;

#include "kernels/unroll.inc"

QV_INLINE Vec load(const float* from) { return _mm512_loadu_ps(from); }
QV_INLINE void store(float* to, Vec v) { _mm512_storeu_ps(to, v); }
QV_INLINE Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
QV_INLINE Vec sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
QV_INLINE Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
QV_INLINE Vec broadcast(float value) { return _mm512_set1_ps(value); }

QV_INLINE Vec flip(Vec v, std::uint32_t signs) {
  const __m512i minus = _mm512_set1_epi32(static_cast<int>(0x80000000u));
  const __m512i bits = _mm512_castps_si512(v);
  return _mm512_castsi512_ps(
      _mm512_mask_xor_epi32(bits, static_cast<__mmask16>(signs), bits, minus));
}

// One and minus one, by the bits of `minus`.
QV_INLINE Vec ones(__mmask16 minus) {
  return _mm512_mask_blend_ps(minus, _mm512_set1_ps(1.0f), _mm512_set1_ps(-1.0f));
}

// Each lane becomes its partner plus or minus itself: products with ones are exact, and leave the
// adders to the stages between registers.
QV_INLINE Vec within(Vec v) {
  v = _mm512_fmadd_ps(v, ones(0b1010101010101010), _mm512_permute_ps(v, 0b10110001));
  v = _mm512_fmadd_ps(v, ones(0b1100110011001100), _mm512_permute_ps(v, 0b01001110));
  v = _mm512_fmadd_ps(v, ones(0b1111000011110000), _mm512_shuffle_f32x4(v, v, 0b10110001));
  return _mm512_fmadd_ps(v, ones(0b1111111100000000), _mm512_shuffle_f32x4(v, v, 0b01001110));
}

#include "kernels/transform/stages.inc"

}  // namespace

constinit const TransformKernels kTransformKernels = {hadamard, flip_signs, butterfly};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

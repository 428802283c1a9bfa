// Sums of eight vectors by twenty-four in registers. The body is tiles.inc.
//
// vmulpd, vaddpd zmm: latency 3 to 4; one of each per cycle on Zen 4, one or two of both together
// on Golden Cove. Products and sums are not fused: the baseline has no such instruction.
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

using Vec = __m512d;
using Mask = __mmask8;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kTileRows = 8;
constexpr std::size_t kTileVecs = 3;

QV_INLINE Vec broadcast(double value) { return _mm512_set1_pd(value); }
QV_INLINE Vec plus(Vec a, Vec b) { return _mm512_add_pd(a, b); }
QV_INLINE Vec times(Vec a, Vec b) { return _mm512_mul_pd(a, b); }
QV_INLINE Vec load(const double* values) { return _mm512_loadu_pd(values); }
QV_INLINE void store(double* values, Vec vec) { _mm512_storeu_pd(values, vec); }

QV_INLINE Mask first_lanes(std::size_t n) { return static_cast<Mask>((1U << n) - 1); }
QV_INLINE Vec load_some(const double* values, Mask mask) {
  return _mm512_maskz_loadu_pd(mask, values);
}
QV_INLINE void store_some(double* values, Mask mask, Vec vec) {
  _mm512_mask_storeu_pd(values, mask, vec);
}

#include "kernels/products/tiles.inc"

}  // namespace

constinit const ProductKernels kProductKernels = {add};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

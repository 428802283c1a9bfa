// Sums of four vectors by eight in registers: no sum waits for itself. The body is tiles.inc.
//
// vmulpd, vaddpd ymm: latency 3 to 4; two of each per cycle on Zen 4, two of both together on
// Golden Cove. Products and sums are not fused: the baseline has no such instruction.
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

using Vec = __m256d;
using Mask = __m256i;
constexpr std::size_t kLanes = 4;
constexpr std::size_t kTileRows = 4;
constexpr std::size_t kTileVecs = 2;

QV_INLINE Vec broadcast(double value) { return _mm256_set1_pd(value); }
QV_INLINE Vec plus(Vec a, Vec b) { return _mm256_add_pd(a, b); }
QV_INLINE Vec times(Vec a, Vec b) { return _mm256_mul_pd(a, b); }
QV_INLINE Vec load(const double* values) { return _mm256_loadu_pd(values); }
QV_INLINE void store(double* values, Vec vec) { _mm256_storeu_pd(values, vec); }

QV_INLINE Mask first_lanes(std::size_t n) {
  const Mask lanes = _mm256_set_epi64x(3, 2, 1, 0);
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(static_cast<long long>(n)), lanes);
}
QV_INLINE Vec load_some(const double* values, Mask mask) {
  return _mm256_maskload_pd(values, mask);
}
QV_INLINE void store_some(double* values, Mask mask, Vec vec) {
  _mm256_maskstore_pd(values, mask, vec);
}

#include "kernels/products/tiles.inc"

}  // namespace

constinit const ProductKernels kProductKernels = {add};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

// Gathers sixteen query values at a time; lane = position in the row mod 16. Merge is scalar.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

constexpr std::size_t kLanes = 16;

// Adding +0 turns -0 into +0, see generic.cc.
float sum_register(__m512 v) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))) + 0.0f;
}

float sum_lanes(float (&sums)[kLanes]) { return sum_register(_mm512_loadu_ps(sums)); }

#include "kernels/sparse/merge.inc"

float dense(const float* query, std::size_t dim, const std::uint32_t* row_indices,
            const float* row_values, std::size_t n_row) {
  const __m512i end = _mm512_set1_epi32(static_cast<int>(dim));
  __m512 sum = _mm512_setzero_ps();
  for (std::size_t j = 0; j < n_row; j += kLanes) {
    const std::size_t left = n_row - j;
    const __mmask16 present =
        left >= kLanes ? __mmask16{0xffff} : static_cast<__mmask16>((1u << left) - 1u);
    const __m512i index = _mm512_maskz_loadu_epi32(present, row_indices + j);
    const __mmask16 inside = _mm512_mask_cmplt_epu32_mask(present, index, end);
    if (inside == 0) break;  // ascending: the rest is outside as well
    const __m512 value = _mm512_maskz_loadu_ps(present, row_values + j);
    const __m512 weight = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), inside, index, query, 4);
    sum = _mm512_mask3_fmadd_ps(weight, value, sum, inside);
  }
  return sum_register(sum);
}

}  // namespace

constinit const SparseKernels kSparseKernels = {merge, dense};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

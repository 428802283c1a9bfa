// Gathers eight query values at a time into two registers; lane = position in the row mod 16. Merge
// is scalar.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

constexpr std::size_t kLanes = 16;

// Adding +0 turns -0 into +0, see generic.cc.
float sum_registers(__m256 low, __m256 high) {
  const __m256 eight = _mm256_add_ps(low, high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))) + 0.0f;
}

float sum_lanes(float (&sums)[kLanes]) {
  return sum_registers(_mm256_loadu_ps(sums), _mm256_loadu_ps(sums + 8));
}

#include "kernels/sparse/merge.inc"

// Entries outside the query, and those that `present` hides, add +0 or nothing at all.
__m256 add_eight(__m256 sum, const float* query, __m256i last, const std::uint32_t* indices,
                 const float* values, __m256i present) {
  const __m256i index = _mm256_maskload_epi32(reinterpret_cast<const int*>(indices), present);
  const __m256i inside =
      _mm256_and_si256(present, _mm256_cmpeq_epi32(_mm256_min_epu32(index, last), index));
  const __m256 value = _mm256_maskload_ps(values, inside);
  const __m256 weight =
      _mm256_mask_i32gather_ps(_mm256_setzero_ps(), query, index, _mm256_castsi256_ps(inside), 4);
  return _mm256_fmadd_ps(weight, value, sum);
}

__m256i first_lanes(std::size_t n) {
  const int count = n < 8 ? static_cast<int>(n) : 8;
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

float dense(const float* query, std::size_t dim, const std::uint32_t* row_indices,
            const float* row_values, std::size_t n_row) {
  if (dim == 0) return 0.0f;
  const __m256i last = _mm256_set1_epi32(static_cast<int>(dim - 1));
  __m256 low = _mm256_setzero_ps();
  __m256 high = _mm256_setzero_ps();
  for (std::size_t j = 0; j < n_row; j += kLanes) {
    const std::size_t left = n_row - j;
    low = add_eight(low, query, last, row_indices + j, row_values + j, first_lanes(left));
    if (left > 8) {
      high = add_eight(high, query, last, row_indices + j + 8, row_values + j + 8,
                       first_lanes(left - 8));
    }
  }
  return sum_registers(low, high);
}

}  // namespace

constinit const SparseKernels kSparseKernels = {merge, dense};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

// Eight rows at a time: lengths are gathered, the eight gains are computed in registers and added
// to their sums one by one, because this level has no scatter.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

#include "kernels/texts/one.inc"

constexpr std::size_t kLanes = 8;

std::size_t add_gains(const std::uint32_t* rows, const std::uint8_t* counts, std::size_t n,
                      std::uint32_t first_row, std::uint32_t end_row, const std::uint32_t* lengths,
                      const TokenGain& gain, float* sums) {
  const __m256 weight = _mm256_set1_ps(gain.weight);
  const __m256 at_length_0 = _mm256_set1_ps(gain.at_length_0);
  const __m256 per_token = _mm256_set1_ps(gain.per_token);
  const __m256i many = _mm256_set1_epi32(TextKernels::kManyTimes);
  std::size_t i = 0;
  for (; i + kLanes <= n && rows[i + kLanes - 1] < end_row; i += kLanes) {
    const __m256i row = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i));
    const __m256i count =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(counts + i)));
    const __m256 length =
        _mm256_cvtepi32_ps(_mm256_i32gather_epi32(reinterpret_cast<const int*>(lengths), row, 4));
    const __m256 tf = _mm256_cvtepi32_ps(count);
    const __m256 divisor =
        _mm256_add_ps(tf, _mm256_add_ps(at_length_0, _mm256_mul_ps(per_token, length)));
    const __m256 ratio = _mm256_div_ps(_mm256_mul_ps(weight, tf), divisor);
    const __m256 is_many = _mm256_castsi256_ps(_mm256_cmpeq_epi32(count, many));
    alignas(32) float gained[kLanes];
    _mm256_store_ps(gained, _mm256_blendv_ps(ratio, weight, is_many));
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[(rows[i + lane] - first_row) % TextKernels::kWindow] += gained[lane];
    }
  }
  for (; i < n && rows[i] < end_row; ++i) {
    add_gain(rows[i], counts[i], first_row, lengths, gain, sums);
  }
  return i;
}

}  // namespace

constinit const TextKernels kTextKernels = {add_gains};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

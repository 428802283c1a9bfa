// Eight rows at a time: lengths are gathered, the eight gains are computed in registers and added
// to their sums one by one, because this level has no scatter.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

#include "kernels/texts/one.inc"

constexpr std::size_t kLanes = 8;

/// A `TokenGain` in all lanes.
struct GainLanes {
  explicit GainLanes(const TokenGain& gain)
      : weight(_mm256_set1_ps(gain.weight)),
        at_length_0(_mm256_set1_ps(gain.at_length_0)),
        per_token(_mm256_set1_ps(gain.per_token)) {}
  const __m256 weight, at_length_0, per_token;
};

__m256 gains_of(__m256i count, __m256i lengths, const GainLanes& gain) {
  const __m256 length = _mm256_cvtepi32_ps(lengths);
  const __m256 tf = _mm256_cvtepi32_ps(count);
  const __m256 divisor =
      _mm256_add_ps(tf, _mm256_add_ps(gain.at_length_0, _mm256_mul_ps(gain.per_token, length)));
  const __m256 ratio = _mm256_div_ps(_mm256_mul_ps(gain.weight, tf), divisor);
  const __m256i many = _mm256_set1_epi32(TextKernels::kManyTimes);
  return _mm256_blendv_ps(ratio, gain.weight, _mm256_castsi256_ps(_mm256_cmpeq_epi32(count, many)));
}

__m256i load_counts(const std::uint8_t* counts) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(counts)));
}

std::size_t add_gains(const std::uint32_t* rows, const std::uint8_t* counts, std::size_t n,
                      std::uint32_t first_row, std::uint32_t end_row, const std::uint32_t* lengths,
                      const TokenGain& gain, float* sums) {
  const GainLanes lanes(gain);
  std::size_t i = 0;
  const __m256i last = _mm256_set1_epi32(static_cast<int>(end_row - 1));
  for (; i + kLanes <= n; i += kLanes) {
    const __m256i row = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i));
    // All are looked at, as damaged rows do not ascend.
    const __m256i below = _mm256_cmpeq_epi32(_mm256_max_epu32(row, last), last);
    if (_mm256_movemask_epi8(below) != -1) break;
    const __m256i length = _mm256_i32gather_epi32(reinterpret_cast<const int*>(lengths), row, 4);
    alignas(32) float gained[kLanes];
    _mm256_store_ps(gained, gains_of(load_counts(counts + i), length, lanes));
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[(rows[i + lane] - first_row) % TextKernels::kWindow] += gained[lane];
    }
  }
  for (; i < n && rows[i] < end_row; ++i) {
    sums[(rows[i] - first_row) % TextKernels::kWindow] +=
        gain_of(counts[i], lengths[rows[i]], gain);
  }
  return i;
}

float largest_gain(const std::uint8_t* counts, const std::uint32_t* lengths, std::size_t n,
                   const TokenGain& gain) {
  const GainLanes lanes(gain);
  __m256 most = _mm256_setzero_ps();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m256i length = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lengths + i));
    most = _mm256_max_ps(most, gains_of(load_counts(counts + i), length, lanes));
  }
  alignas(32) float parts[kLanes];
  _mm256_store_ps(parts, most);
  float largest = *std::max_element(parts, parts + kLanes);
  for (; i < n; ++i) largest = std::max(largest, gain_of(counts[i], lengths[i], gain));
  return largest;
}

}  // namespace

constinit const TextKernels kTextKernels = {add_gains, largest_gain};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

// A register holds the table of sixteen levels, and one permutation looks up sixteen values.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

#include "kernels/turbo/tails.inc"

constexpr std::size_t kLanes = 16;

void four_bits(const std::byte* codes, std::size_t n, const float* levels, float* out) {
  const __m128i mask = _mm_set1_epi8(15);
  const __m512 table = _mm512_loadu_ps(levels);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m128i pairs = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + i / 2));
    const __m128i even = _mm_and_si128(pairs, mask);
    const __m128i odd = _mm_and_si128(_mm_srli_epi16(pairs, 4), mask);
    const __m512i ordered = _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(even, odd));
    _mm512_storeu_ps(out + i, _mm512_permutexvar_ps(ordered, table));
  }
  four_bits_from(i, codes, n, levels, out);
}

/// (2 c - most) * scale.
QV_INLINE __m512 even_levels(__m512i codes, int most, float scale) {
  const __m512i whole = _mm512_sub_epi32(_mm512_slli_epi32(codes, 1), _mm512_set1_epi32(most));
  return _mm512_mul_ps(_mm512_cvtepi32_ps(whole), _mm512_set1_ps(scale));
}

void eight_bits(const std::byte* codes, std::size_t n, float scale, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i));
    _mm512_storeu_ps(out + i, even_levels(_mm512_cvtepu8_epi32(bytes), 255, scale));
  }
  eight_bits_from(i, codes, n, scale, out);
}

void sixteen_bits(const std::byte* codes, std::size_t n, float scale, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 2 * i));
    _mm512_storeu_ps(out + i, even_levels(_mm512_cvtepu16_epi32(words), 65535, scale));
  }
  sixteen_bits_from(i, codes, n, scale, out);
}

// The numbers of the sizes nearest to positive values.
QV_INLINE __m512i size_numbers(__m512 values) {
  __m512i numbers = _mm512_setzero_si512();
  for (const float bound : kTurboBounds) {
    const __mmask16 beyond = _mm512_cmp_ps_mask(values, _mm512_set1_ps(bound), _CMP_GT_OQ);
    numbers = _mm512_mask_add_epi32(numbers, beyond, numbers, _mm512_set1_epi32(1));
  }
  return numbers;
}

TurboSums measure(const float* in, std::size_t n, float factor) {
  constexpr std::size_t kBlock = kSumLanes * kBlockRounds;
  LaneSums sums;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = begin + kBlock < n ? begin + kBlock : n;
    const __m512 sizes = _mm512_broadcast_f32x8(_mm256_loadu_ps(kTurboSizes.data()));
    const __m512 factors = _mm512_set1_ps(factor);
    __m512 dot = _mm512_setzero_ps();
    __m512 squares = _mm512_setzero_ps();
    std::size_t i = begin;
    for (; i + kSumLanes <= end; i += kSumLanes) {
      const __m512 values = _mm512_mul_ps(_mm512_abs_ps(_mm512_loadu_ps(in + i)), factors);
      const __m512 size = _mm512_permutexvar_ps(size_numbers(values), sizes);
      dot = _mm512_add_ps(dot, _mm512_mul_ps(values, size));
      squares = _mm512_add_ps(squares, _mm512_mul_ps(size, size));
    }
    _mm512_store_ps(sums.dot, dot);
    _mm512_store_ps(sums.squares, squares);
    measure_from(i, in, end, factor, sums);
    move_to_totals(sums);
  }
  return total(sums);
}

void encode(const float* in, std::size_t n, float factor, std::byte* codes) {
  alignas(64) std::int32_t numbers[kLanes];
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m512 values = _mm512_loadu_ps(in + i);
    const __m512 sizes = _mm512_mul_ps(_mm512_abs_ps(values), _mm512_set1_ps(factor));
    const __mmask16 below = _mm512_cmp_ps_mask(values, _mm512_setzero_ps(), _CMP_LT_OQ);
    const __m512i flips =
        _mm512_mask_blend_epi32(below, _mm512_set1_epi32(8), _mm512_set1_epi32(7));
    _mm512_store_si512(numbers, _mm512_xor_si512(size_numbers(sizes), flips));
    for (std::size_t j = 0; j < kLanes; j += 2) {
      codes[(i + j) / 2] = static_cast<std::byte>(numbers[j] | numbers[j + 1] << 4);
    }
  }
  encode_from(i, in, n, factor, codes);
}

}  // namespace

constinit const TurboKernels kTurboKernels = {four_bits, eight_bits, sixteen_bits, measure, encode};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

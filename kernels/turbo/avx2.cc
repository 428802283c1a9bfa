// Like avx512.cc. The table of sixteen levels is two registers, and bit 3 of a code chooses.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

#include "kernels/turbo/tails.inc"

constexpr std::size_t kLanes = 8;

QV_INLINE __m256 look_up(__m256i codes, __m256 low, __m256 high) {
  const __m256 bit_3 = _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28));
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, codes),
                          _mm256_permutevar8x32_ps(high, codes), bit_3);
}

void four_bits(const std::byte* codes, std::size_t n, const float* levels, float* out) {
  const __m128i mask = _mm_set1_epi8(15);
  const __m256 low = _mm256_loadu_ps(levels);
  const __m256 high = _mm256_loadu_ps(levels + kLanes);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const __m128i pairs = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + i / 2));
    const __m128i even = _mm_and_si128(pairs, mask);
    const __m128i odd = _mm_and_si128(_mm_srli_epi16(pairs, 4), mask);
    const __m128i ordered = _mm_unpacklo_epi8(even, odd);
    const __m256i first = _mm256_cvtepu8_epi32(ordered);
    const __m256i second = _mm256_cvtepu8_epi32(_mm_srli_si128(ordered, 8));
    _mm256_storeu_ps(out + i, look_up(first, low, high));
    _mm256_storeu_ps(out + i + kLanes, look_up(second, low, high));
  }
  four_bits_from(i, codes, n, levels, out);
}

/// (2 c - most) * scale.
QV_INLINE __m256 even_levels(__m256i codes, int most, float scale) {
  const __m256i whole = _mm256_sub_epi32(_mm256_slli_epi32(codes, 1), _mm256_set1_epi32(most));
  return _mm256_mul_ps(_mm256_cvtepi32_ps(whole), _mm256_set1_ps(scale));
}

void eight_bits(const std::byte* codes, std::size_t n, float scale, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + i));
    _mm256_storeu_ps(out + i, even_levels(_mm256_cvtepu8_epi32(bytes), 255, scale));
  }
  eight_bits_from(i, codes, n, scale, out);
}

void sixteen_bits(const std::byte* codes, std::size_t n, float scale, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + 2 * i));
    _mm256_storeu_ps(out + i, even_levels(_mm256_cvtepu16_epi32(words), 65535, scale));
  }
  sixteen_bits_from(i, codes, n, scale, out);
}

// The numbers of the sizes nearest to positive values.
QV_INLINE __m256i size_numbers(__m256 values) {
  __m256i numbers = _mm256_setzero_si256();
  for (const float bound : kTurboBounds) {
    const __m256 beyond = _mm256_cmp_ps(values, _mm256_set1_ps(bound), _CMP_GT_OQ);
    numbers = _mm256_sub_epi32(numbers, _mm256_castps_si256(beyond));
  }
  return numbers;
}

TurboSums measure(const float* in, std::size_t n, float factor) {
  constexpr std::size_t kBlock = kSumLanes * kBlockRounds;
  LaneSums sums;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = begin + kBlock < n ? begin + kBlock : n;
    const __m256 sizes = _mm256_loadu_ps(kTurboSizes.data());
    const __m256 factors = _mm256_set1_ps(factor);
    const __m256 sign = _mm256_set1_ps(-0.0F);
    __m256 dot[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    __m256 squares[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    std::size_t i = begin;
    for (; i + kSumLanes <= end; i += kSumLanes) {
      for (std::size_t half = 0; half < 2; ++half) {
        const __m256 in_half = _mm256_loadu_ps(in + i + half * kLanes);
        const __m256 values = _mm256_mul_ps(_mm256_andnot_ps(sign, in_half), factors);
        const __m256 size = _mm256_permutevar8x32_ps(sizes, size_numbers(values));
        dot[half] = _mm256_add_ps(dot[half], _mm256_mul_ps(values, size));
        squares[half] = _mm256_add_ps(squares[half], _mm256_mul_ps(size, size));
      }
    }
    for (std::size_t half = 0; half < 2; ++half) {
      _mm256_store_ps(sums.dot + half * kLanes, dot[half]);
      _mm256_store_ps(sums.squares + half * kLanes, squares[half]);
    }
    measure_from(i, in, end, factor, sums);
    move_to_totals(sums);
  }
  return total(sums);
}

void encode(const float* in, std::size_t n, float factor, std::byte* codes) {
  alignas(64) std::int32_t numbers[kLanes];
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m256 values = _mm256_loadu_ps(in + i);
    const __m256 sizes =
        _mm256_mul_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0F), values), _mm256_set1_ps(factor));
    const __m256 below = _mm256_cmp_ps(values, _mm256_setzero_ps(), _CMP_LT_OQ);
    const __m256i flips =
        _mm256_blendv_epi8(_mm256_set1_epi32(8), _mm256_set1_epi32(7), _mm256_castps_si256(below));
    _mm256_store_si256(reinterpret_cast<__m256i*>(numbers),
                       _mm256_xor_si256(size_numbers(sizes), flips));
    for (std::size_t j = 0; j < kLanes; j += 2) {
      codes[(i + j) / 2] = static_cast<std::byte>(numbers[j] | numbers[j + 1] << 4);
    }
  }
  encode_from(i, in, n, factor, codes);
}

}  // namespace

constinit const TurboKernels kTurboKernels = {four_bits, eight_bits, sixteen_bits, measure, encode};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

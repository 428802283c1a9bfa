// Compares eight scores and permutes their positions by a table of 256 shuffles (2 KiB). Stores
// eight at a time. Positions stored beyond the count are within `n`, because the count never passes
// the position, and are overwritten later.
//
// vcmpps ymm: two per cycle on Zen 4 and Golden Cove (latency 4 there); vpermd ymm: latency 3 on
// Golden Cove, one per cycle. There are no sums. A branch skips registers without a score that
// stays.
//
// Measured by micro_bench, 1 % kept, ns per 1,024 scores: on Zen 4 (family 25, model 17) 119
// (generic 565); on an Intel processor of two products a cycle (family 6; it calls itself model
// 167; 2.2 GHz), shared, 355 (14 % of the bandwidth of reading; generic 975).
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

constexpr std::size_t kLanes = 8;

// Byte j of entry `mask` is the position of the j-th set bit.
struct Shuffles {
  std::uint64_t of[256];
};

constexpr Shuffles make_shuffles() {
  Shuffles shuffles{};
  for (std::uint64_t mask = 0; mask < 256; ++mask) {
    int at = 0;
    for (std::uint64_t bit = 0; bit < 8; ++bit) {
      if ((mask >> bit & 1) == 0) continue;
      shuffles.of[mask] |= bit << at;
      at += 8;
    }
  }
  return shuffles;
}

constexpr Shuffles kShuffles = make_shuffles();

std::size_t at_least(const float* scores, std::size_t n, float threshold,
                     std::uint32_t* positions) {
  const __m256 bar = _mm256_set1_ps(threshold);
  const __m256i step = _mm256_set1_epi32(kLanes);
  __m256i position = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m256 kept = _mm256_cmp_ps(_mm256_loadu_ps(scores + i), bar, _CMP_GE_OQ);
    const auto mask = static_cast<unsigned>(_mm256_movemask_ps(kept));
    if (mask != 0) {
      const __m256i order =
          _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kShuffles.of[mask])));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(positions + count),
                          _mm256_permutevar8x32_epi32(position, order));
      count += static_cast<std::size_t>(__builtin_popcount(mask));
    }
    position = _mm256_add_epi32(position, step);
  }
  for (; i < n; ++i) {
    positions[count] = static_cast<std::uint32_t>(i);
    count += scores[i] >= threshold;
  }
  return count;
}

std::size_t set_bits(const std::uint64_t* words, std::size_t n_words, std::uint32_t first,
                     std::uint32_t* positions) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  std::size_t count = 0;
  for (std::size_t i = 0; i < n_words; ++i) {
    const std::uint64_t word = words[i];
    if (word == 0) continue;
    for (unsigned b = 0; b < 64; b += kLanes) {
      const auto mask = static_cast<unsigned>(word >> b & 255);
      const __m256i order =
          _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kShuffles.of[mask])));
      const auto base = static_cast<int>(first + static_cast<std::uint32_t>(64 * i) + b);
      const __m256i position = _mm256_add_epi32(lanes, _mm256_set1_epi32(base));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(positions + count),
                          _mm256_permutevar8x32_epi32(position, order));
      count += static_cast<std::size_t>(__builtin_popcount(mask));
    }
  }
  return count;
}

}  // namespace

constinit const TopKKernels kTopKKernels = {at_least, set_bits};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

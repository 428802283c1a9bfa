// Compares sixteen scores, compresses their positions inside a register and stores the whole
// register, because a compressing store is microcoded on Zen 4. Positions stored beyond the count
// are within `n` and are overwritten later.
//
// vcmpps zmm into a mask: one per cycle on Zen 4 and Golden Cove; vpcompressd zmm: one in two
// cycles on both. There are no sums. A branch skips registers without a score that stays, which are
// most.
//
// Measured by micro_bench, 1 % kept, ns per 1,024 scores: on Zen 4 (family 25, model 17) 60 (avx2
// 119, generic 565); on an Intel processor of two products a cycle (family 6; it calls itself model
// 167; 2.2 GHz), shared, 280 (17 % of the bandwidth of reading; avx2 355, generic 975), most of it
// for mispredictions of the branch.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

constexpr std::size_t kLanes = 16;

std::size_t at_least(const float* scores, std::size_t n, float threshold,
                     std::uint32_t* positions) {
  const __m512 bar = _mm512_set1_ps(threshold);
  const __m512i step = _mm512_set1_epi32(kLanes);
  __m512i position = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::size_t count = 0;
  std::size_t i = 0;
  const auto add = [&](__mmask16 kept) {
    _mm512_storeu_si512(positions + count, _mm512_maskz_compress_epi32(kept, position));
    count += static_cast<std::size_t>(__builtin_popcount(kept));
    position = _mm512_add_epi32(position, step);
  };
  const auto kept_at = [&](std::size_t at) {
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(scores + at), bar, _CMP_GE_OQ);
  };
  const __m512i four_steps = _mm512_set1_epi32(4 * kLanes);
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    const __mmask16 a = kept_at(i);
    const __mmask16 b = kept_at(i + kLanes);
    const __mmask16 c = kept_at(i + 2 * kLanes);
    const __mmask16 d = kept_at(i + 3 * kLanes);
    if ((static_cast<unsigned>(a | b) | static_cast<unsigned>(c | d)) == 0) {
      position = _mm512_add_epi32(position, four_steps);
      continue;
    }
    add(a), add(b), add(c), add(d);
  }
  for (; i + kLanes <= n; i += kLanes) add(kept_at(i));
  const __mmask16 present = static_cast<__mmask16>((1u << (n - i)) - 1u);
  const __m512 last = _mm512_maskz_loadu_ps(present, scores + i);
  const __mmask16 kept = _mm512_mask_cmp_ps_mask(present, last, bar, _CMP_GE_OQ);
  const auto n_kept = static_cast<std::size_t>(__builtin_popcount(kept));
  const __mmask16 front = static_cast<__mmask16>((1u << n_kept) - 1u);
  _mm512_mask_storeu_epi32(positions + count, front, _mm512_maskz_compress_epi32(kept, position));
  return count + n_kept;
}

std::size_t set_bits(const std::uint64_t* words, std::size_t n_words, std::uint32_t first,
                     std::uint32_t* positions) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::size_t count = 0;
  for (std::size_t i = 0; i < n_words; ++i) {
    const std::uint64_t word = words[i];
    if (word == 0) continue;
    for (unsigned b = 0; b < 64; b += kLanes) {
      const auto mask = static_cast<__mmask16>(word >> b);
      const auto base = static_cast<int>(first + static_cast<std::uint32_t>(64 * i) + b);
      const __m512i position = _mm512_add_epi32(lanes, _mm512_set1_epi32(base));
      _mm512_storeu_si512(positions + count, _mm512_maskz_compress_epi32(mask, position));
      count += static_cast<std::size_t>(__builtin_popcount(mask));
    }
  }
  return count;
}

}  // namespace

constinit const TopKKernels kTopKKernels = {at_least, set_bits};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

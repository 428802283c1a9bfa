// AVX2 has no unsigned comparison: a sum reaches the threshold if it equals the maximum of both.
// Results are packed to bytes for one mask of 32. The body is words.inc.
//
// vpmaxuw, vpcmpeqw ymm: latency 1, two per cycle on Golden Cove, four on Zen 4; vpmovmskb, vpermq,
// vpacksswb: one per cycle on Golden Cove. There are no sums in registers: 64 counts are one popcnt
// and one addition.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians; ns a sum, 8,192 sums in L1.
// Percentages: time of the loop's instructions on registers alone, divided by the measured time.
// count_at_least .078 (62 %); at_least .094 (56 %), where one sum in a hundred reaches the
// threshold.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

__m256i broadcast(std::uint16_t value) { return _mm256_set1_epi16(static_cast<short>(value)); }

__m256i reach(const std::uint16_t* sums, __m256i bar) {
  const __m256i values = _mm256_load_si256(reinterpret_cast<const __m256i*>(sums));
  return _mm256_cmpeq_epi16(_mm256_max_epu16(values, bar), values);
}

/// Packing to bytes interleaves halves, which the permutation undoes.
std::uint32_t mask_of_32(const std::uint16_t* sums, __m256i bar) {
  const __m256i bytes = _mm256_packs_epi16(reach(sums, bar), reach(sums + 16, bar));
  return static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_permute4x64_epi64(bytes, 0b11011000)));
}

std::uint64_t mask_of(const std::uint16_t* sums, __m256i bar) {
  return mask_of_32(sums, bar) | std::uint64_t{mask_of_32(sums + 32, bar)} << 32;
}

#include "kernels/sums/words.inc"

}  // namespace

constinit const SumKernels kSumKernels = {at_least, count_at_least};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

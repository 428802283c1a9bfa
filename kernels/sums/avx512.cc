// One instruction compares thirty-two sums. Few reach the threshold, so their bits are visited one
// by one. The body is words.inc.
//
// vpcmpuw zmm into a mask: latency 3 and one per cycle on Golden Cove; kmovd from a mask: 3, one
// per cycle. There are no sums in registers: 64 counts are one popcnt and one addition.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians; ns a sum, 8,192 sums in L1.
// Percentages: time of the loop's instructions on registers alone, divided by the measured time.
// count_at_least .028 (60 %; 61 % of the bandwidth of reading them); at_least .054 (29 %), where
// one sum in a hundred reaches the threshold.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

__m512i broadcast(std::uint16_t value) { return _mm512_set1_epi16(static_cast<short>(value)); }

std::uint64_t mask_of(const std::uint16_t* sums, __m512i bar) {
  const std::uint64_t low = _mm512_cmpge_epu16_mask(_mm512_load_si512(sums), bar);
  const std::uint64_t high = _mm512_cmpge_epu16_mask(_mm512_load_si512(sums + 32), bar);
  return low | high << 32;
}

#include "kernels/sums/words.inc"

}  // namespace

constinit const SumKernels kSumKernels = {at_least, count_at_least};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

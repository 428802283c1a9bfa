// Thirty-two comparisons an instruction; survivors are few, so their bits are walked.
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

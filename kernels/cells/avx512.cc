// As the AVX2 form, with 64 cells in a register and masks in mask registers. A table of 32 bytes is
// one permutation. The body is words.inc.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

class Interval {
 public:
  Interval(std::uint8_t low, std::uint8_t high)
      : low_(_mm512_set1_epi8(static_cast<char>(low))),
        width_(_mm512_set1_epi8(static_cast<char>(high - low))) {}
  std::uint64_t mask_of(const std::uint8_t* cells) const {
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(_mm512_loadu_si512(cells), low_), width_);
  }

 private:
  __m512i low_, width_;
};

class Table {
 public:
  explicit Table(const CellSet& set)
      : bytes_(_mm512_broadcast_i64x4(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(set.data())))) {}
  std::uint64_t mask_of(const std::uint8_t* cells) const {
    const __m512i all = _mm512_loadu_si512(cells);
    const __m512i bits = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201));
    const __m512i bit = _mm512_shuffle_epi8(bits, _mm512_and_si512(all, _mm512_set1_epi8(7)));
    const __m512i byte = _mm512_and_si512(_mm512_srli_epi16(all, 3), _mm512_set1_epi8(0x1F));
    return _mm512_test_epi8_mask(_mm512_permutexvar_epi8(byte, bytes_), bit);
  }

 private:
  __m512i bytes_;
};

class Between {
 public:
  explicit Between(const CodeInterval& interval)
      : low_cell_(all(interval.low >> 8)),
        low_rest_(all(interval.low & 255)),
        high_cell_(all(interval.high >> 8)),
        high_rest_(all(interval.high & 255)) {}
  std::uint64_t mask_of(const std::uint8_t* cells, const std::uint8_t* rests) const {
    const __m512i cell = _mm512_loadu_si512(cells);
    const __m512i rest = _mm512_loadu_si512(rests);
    const __mmask64 above = _mm512_cmpgt_epu8_mask(cell, low_cell_);
    const __mmask64 below = _mm512_cmplt_epu8_mask(cell, high_cell_);
    const __mmask64 at_low =
        _mm512_mask_cmpge_epu8_mask(_mm512_cmpeq_epi8_mask(cell, low_cell_), rest, low_rest_);
    const __mmask64 at_high =
        _mm512_mask_cmple_epu8_mask(_mm512_cmpeq_epi8_mask(cell, high_cell_), rest, high_rest_);
    return (above | at_low) & (below | at_high);
  }

 private:
  static __m512i all(int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }
  __m512i low_cell_, low_rest_, high_cell_, high_rest_;
};

#include "kernels/cells/words.inc"

}  // namespace

constinit const CellKernels kCellKernels = {classify, between};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

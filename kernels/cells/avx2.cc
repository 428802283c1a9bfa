// An interval: the distance from its low end, as an unsigned byte, is at most its width. A set: the
// byte of the table with the cell's bit is found by two shuffles (16 entries each), and the bit by
// a third. The body is words.inc.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

__m256i load(const std::uint8_t* cells) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(cells));
}
std::uint64_t join(__m256i low, __m256i high) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
         std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(high))} << 32;
}

class Interval {
 public:
  Interval(std::uint8_t low, std::uint8_t high)
      : low_(_mm256_set1_epi8(static_cast<char>(low))),
        width_(_mm256_set1_epi8(static_cast<char>(high - low))) {}
  std::uint64_t mask_of(const std::uint8_t* cells) const {
    return join(inside(load(cells)), inside(load(cells + 32)));
  }

 private:
  __m256i inside(__m256i cells) const {
    const __m256i distance = _mm256_sub_epi8(cells, low_);
    return _mm256_cmpeq_epi8(_mm256_min_epu8(distance, width_), distance);
  }
  __m256i low_, width_;
};

class Table {
 public:
  explicit Table(const CellSet& set) {
    const auto* halves = reinterpret_cast<const __m128i*>(set.data());
    low_ = _mm256_broadcastsi128_si256(_mm_loadu_si128(halves));
    high_ = _mm256_broadcastsi128_si256(_mm_loadu_si128(halves + 1));
  }
  std::uint64_t mask_of(const std::uint8_t* cells) const {
    return join(members(load(cells)), members(load(cells + 32)));
  }

 private:
  __m256i members(__m256i cells) const {
    const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201));
    const __m256i bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(cells, _mm256_set1_epi8(7)));
    const __m256i byte = _mm256_and_si256(_mm256_srli_epi16(cells, 3), _mm256_set1_epi8(0x0F));
    // Cells of 128 and above have their bit in the second half.
    const __m256i found = _mm256_blendv_epi8(_mm256_shuffle_epi8(low_, byte),
                                             _mm256_shuffle_epi8(high_, byte), cells);
    return _mm256_cmpeq_epi8(_mm256_and_si256(found, bit), bit);
  }
  __m256i low_, high_;
};

class Between {
 public:
  explicit Between(const CodeInterval& interval)
      : low_cell_(all(interval.low >> 8)),
        low_rest_(all(interval.low & 255)),
        high_cell_(all(interval.high >> 8)),
        high_rest_(all(interval.high & 255)) {}
  std::uint64_t mask_of(const std::uint8_t* cells, const std::uint8_t* rests) const {
    return join(inside(load(cells), load(rests)), inside(load(cells + 32), load(rests + 32)));
  }

 private:
  static __m256i all(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
  /// a >= b, of unsigned bytes.
  static __m256i at_least(__m256i a, __m256i b) {
    return _mm256_cmpeq_epi8(_mm256_max_epu8(a, b), a);
  }
  /// a > b or (a == b and `rest`), where `rest` is a mask.
  static __m256i above_or(__m256i a, __m256i b, __m256i rest) {
    const __m256i is_equal = _mm256_cmpeq_epi8(a, b);
    return _mm256_blendv_epi8(at_least(a, b), rest, is_equal);
  }
  __m256i inside(__m256i cell, __m256i rest) const {
    const __m256i from_low = above_or(cell, low_cell_, at_least(rest, low_rest_));
    const __m256i to_high = above_or(high_cell_, cell, at_least(high_rest_, rest));
    return _mm256_and_si256(from_low, to_high);
  }
  __m256i low_cell_, low_rest_, high_cell_, high_rest_;
};

#include "kernels/cells/words.inc"

}  // namespace

constinit const CellKernels kCellKernels = {classify, between};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

// Bytes against bytes: both sides are widened to 16 bits, and one vpmaddwd takes 16 products
// (vpmaddubsw would saturate).
//
// vpmaddwd ymm: latency 3 on Zen 4, 5 on Golden Cove, two per cycle on both; vpmovzxbw ymm: latency
// 4 and 3, one per cycle, which is the limit. Two short rows a pass share the widened query; long
// rows take one pass each (see avx512.cc). Tiles: four queries by two rows, 8 sums.
//
// Measured on Zen 4 (family 25, model 17), g++ 12.2, by dense_bench, one thread, medians, ns per
// (query, row). 100,000 x 384 in order: dot 18, i8 30; at random 62-109; tiles of eight 8-12. From
// L2: 13; 1,024 values 28-36, tiles 19.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>
#include <utility>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

#include "kernels/forms.inc"
#include "kernels/unroll.inc"

struct Shape {
  static constexpr std::size_t kManyRows = 2;
  static constexpr std::size_t kGatherRows = 2;
  static constexpr std::size_t kGatherAhead = 8;
  static constexpr std::size_t kGatherBytes = 512;
  static constexpr std::size_t kTileQueries = 4;
  static constexpr std::size_t kTileRows = 2;
  static constexpr std::size_t kLongRow = 257;
};

#include "kernels/avx2_rows.inc"

#include "kernels/avx2_bytes.inc"

#include "kernels/byte_rows.inc"

struct Unsigned {
  static __m256i widen(__m128i bytes) { return _mm256_cvtepu8_epi16(bytes); }
};
struct Signed {
  static __m256i widen(__m128i bytes) { return _mm256_cvtepi8_epi16(bytes); }
};
// i8 as u8, plus 128.
struct Raised {
  static __m256i widen(__m128i bytes) {
    return Unsigned::widen(_mm_xor_si128(bytes, _mm_set1_epi8(-128)));
  }
};

template <class QueryValue, class ScoreValue, class WidenQuery, class WidenRow>
struct Widened {
  using V = __m256i;
  using Query = QueryValue;
  using Score = ScoreValue;
  static constexpr std::size_t kWidth = 16;
  static constexpr bool kRowTerm = false;
  static constexpr bool kQueryTerm = false;
  static V zero() { return _mm256_setzero_si256(); }
  static V query(const Query* q) { return WidenQuery::widen(load_16(q)); }
  static V query_tail(const Query* q, std::size_t n) {
    return WidenQuery::widen(load_tail_16(q, n));
  }
  static V row(const std::byte* r) { return WidenRow::widen(load_16(r)); }
  static V row_tail(const std::byte* r, std::size_t n) {
    const V values = WidenRow::widen(load_tail_16(r, n));
    const __m256i lanes = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm256_and_si256(values,
                            _mm256_cmpgt_epi16(_mm256_set1_epi16(static_cast<short>(n)), lanes));
  }
  static Score finish(std::uint32_t pair, std::uint32_t, std::uint32_t) {
    return static_cast<Score>(pair);
  }
};

template <class Values>
struct Dot : Values {
  static __m256i add(__m256i sum, __m256i q, __m256i r) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(q, r));
  }
};

template <class Values>
struct L2 : Values {
  static __m256i add(__m256i sum, __m256i q, __m256i r) {
    const __m256i difference = _mm256_sub_epi16(q, r);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(difference, difference));
  }
};

template <class Values>
struct L1 : Values {
  static __m256i add(__m256i sum, __m256i q, __m256i r) {
    const __m256i distance = _mm256_abs_epi16(_mm256_sub_epi16(q, r));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(distance, _mm256_set1_epi16(1)));
  }
};

using U8 = Widened<std::uint8_t, std::uint32_t, Unsigned, Unsigned>;
using U8OfI8 = Widened<std::int8_t, std::int32_t, Signed, Unsigned>;
using I8OfU8 = Widened<std::uint8_t, std::int32_t, Unsigned, Signed>;
using I8 = Widened<std::uint8_t, std::uint32_t, Unsigned, Raised>;

}  // namespace

constinit const ByteKernels kByteKernels = {
    {kForms<ByteSums<Dot<U8>>>, kForms<ByteSums<L2<U8>>>, kForms<ByteSums<L1<U8>>>},
    kForms<ByteSums<Dot<U8OfI8>>>,
    kForms<ByteSums<Dot<I8OfU8>>>,
    kForms<ByteSums<L2<I8>>>,
    kForms<ByteSums<L1<I8>>>};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

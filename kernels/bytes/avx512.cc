// Bytes against bytes: one vpdpbusd takes 64 products, its u8 side times its i8 side. For u8 rows,
// 128 is subtracted from the query, which makes it i8; the row's sum, formed once for all queries,
// corrects the result. For i8 rows, the query was prepared as u8 (plus 128), and the format
// corrects the result.
//
// vpdpbusd zmm: latency 4 on Zen 4, 5 on Golden Cove, one per cycle on Zen 4, two on Golden Cove;
// vpsadbw zmm: latency 3, one per cycle on both. A pass takes four rows, and one transposition adds
// their lanes. Rows of up to 256 bytes are read side by side: four sums share the load of the
// query. Longer rows are read one after the other, because four streams halve the bandwidth from
// memory (30 ns against 20); the processor still overlaps their sums. Tiles: four queries by four
// rows, 16 sums; fewer queries where sums of rows and of queries take registers.
//
// Measured on Zen 4 (family 25, model 17), g++ 12.2, by dense_bench, one thread, medians, ns per
// (query, row). 100,000 x 384 in order: dot, l2, l1 and i8 18-21 (all of the bandwidth that the
// same run measured); at random 46-69; tiles of eight dot 4.4, l2 6.5, l1 3.9. From L2: i8 3.7 (91
// % of its bandwidth), u8 dot 8.3, l1 5.3; 1,024 values: i8 8.9-9.8 (98 %), u8 dot 12.4-13.6,
// l1 9.7, l2 24; tiles i8 6.9 (64 % of the products a cycle), u8 dot 8.4, l1 7.5, l2 13.
#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

#include "kernels/forms.inc"
#include "kernels/unroll.inc"

struct Shape {
  static constexpr std::size_t kManyRows = 4;
  static constexpr std::size_t kGatherRows = 4;
  static constexpr std::size_t kGatherAhead = 8;
  static constexpr std::size_t kGatherBytes = 512;
  static constexpr std::size_t kTileQueries = 4;
  static constexpr std::size_t kTileRows = 4;
  static constexpr std::size_t kLongRow = 257;
};

#include "kernels/avx512_bytes.inc"

#include "kernels/byte_rows.inc"

inline __m512i flip(__m512i v) { return _mm512_xor_si512(v, _mm512_set1_epi8(-128)); }

// i8 rows as u8, plus 128.
template <class Op>
struct OfI8Rows : Op {
  using V = __m512i;
  static V row(const std::byte* r) { return flip(Op::row(r)); }
  static V row_tail(const std::byte* r, std::size_t n) {
    return _mm512_maskz_mov_epi8(first_bytes(n), flip(Op::row_tail(r, n)));
  }
};

// The u8 query, less 128. Behind the end of a tail the row is zero.
struct U8Dot : Plain<std::uint8_t, std::uint32_t> {
  static constexpr bool kRowTerm = true;
  static V query(const Query* q) { return flip(Plain::query(q)); }
  static V query_tail(const Query* q, std::size_t n) { return flip(Plain::query_tail(q, n)); }
  static V add(V sum, V q, V r) { return _mm512_dpbusd_epi32(sum, r, q); }
  static V add_row(V sum, V r) { return _mm512_dpbusd_epi32(sum, r, _mm512_set1_epi8(-128)); }
  static Score finish(std::uint32_t pair, std::uint32_t of_row, std::uint32_t) {
    return pair - of_row;
  }
};

// (q - r)^2 = q^2 - 2 (q - 128) r + r (r - 256).
struct U8L2 : U8Dot {
  static constexpr bool kQueryTerm = true;
  static V add_row(V sum, V r) { return U8Dot::add_row(_mm512_dpbusd_epi32(sum, r, flip(r)), r); }
  // q^2 = q (q - 128) + 64 q + 64 q.
  static V add_query(V sum, V less_128) {
    const V q = flip(less_128);
    const V half =
        _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(sum, q, less_128), q, _mm512_set1_epi8(64));
    return _mm512_dpbusd_epi32(half, q, _mm512_set1_epi8(64));
  }
  static Score finish(std::uint32_t pair, std::uint32_t of_row, std::uint32_t of_query) {
    return of_query - 2 * pair + of_row;
  }
};

struct U8L1 : Plain<std::uint8_t, std::uint32_t> {
  static V add(V sum, V q, V r) { return _mm512_add_epi64(sum, _mm512_sad_epu8(q, r)); }
};

struct I8Dot : Plain<std::uint8_t, std::int32_t> {
  static V add(V sum, V q, V r) { return _mm512_dpbusd_epi32(sum, q, r); }
};

struct U8DotI8 : Plain<std::int8_t, std::int32_t> {
  static V add(V sum, V q, V r) { return _mm512_dpbusd_epi32(sum, r, q); }
};

}  // namespace

constinit const ByteKernels kByteKernels = {
    {kForms<ByteSums<U8Dot>>, kForms<ByteSums<U8L2>>, kForms<ByteSums<U8L1>>},
    kForms<ByteSums<U8DotI8>>,
    kForms<ByteSums<I8Dot>>,
    kForms<ByteSums<OfI8Rows<U8L2>>>,
    kForms<ByteSums<OfI8Rows<U8L1>>>};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

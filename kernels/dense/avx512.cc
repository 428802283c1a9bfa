// f32 queries against rows of f32, f16, bf16, u8 or i8. Queries are read from L1 and rows are
// converted in registers. Each pair has four partial sums, with one fused multiply-add per value.
// f16 is read 256 bits at a time. bf16 against bf16 takes vdpbf16ps, two products a lane.
//
// vfmadd zmm: latency 4 on Zen 4 and Golden Cove, one per cycle on Zen 4, two on Golden Cove;
// vdpbf16ps zmm: latency 6 on Zen 4, one per cycle (Golden Cove: 5, one); vcvtph2ps ymm: latency 4
// and 7, one per cycle. Four sums hide the latency of the products on Zen 4; two and eight were no
// faster from memory (eight cost 15 %).
//
// One query: a pass takes one row, because the hardware prefetcher follows a single ascending
// stream best (two rows side by side reach 46-57 % of the bandwidth, four 50 %). There is no
// software prefetch: 0.5-8 KiB ahead cost 5-25 %. Gathered rows: prefetching 512 bytes four rows
// ahead takes 225 ns against 325 without. Tiles: f32 takes one row by four queries for the same
// reason (105 ns for eight queries; two rows by three 140, with prefetch 150-210; eight queries at
// once with two sums each 150-170). Narrower rows take two by three: 24 sums, five loads for six
// products.
//
// Measured on Zen 4 (family 25, model 17), g++ 12.2, by dense_bench, one thread, medians, ns per
// (query, row) of 384 values. 100,000 rows in order: f32 80-117 (84-110 % of the bandwidth that the
// same run measured), f16 49 (102 %), bf16 52 (85 %), u8 28-33 (62-75 %); at random f32 147, f16
// 111, u8 70; tiles of eight f32 13-14.5 (85-97 % of the bandwidth), f16 10, u8 9.7. From L2: f32
// 14.7 (89 % of its bandwidth), f16 13.8, u8 13.8; tiles f32 10.9 (61 % of the products a cycle),
// f16 8.7 (76 %), u8 9.0 (73 %). bf16 against bf16: 7.6 (88 % of its products a cycle), 20 at 1,024
// values, tiles 4.9.
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

constexpr std::size_t kSums = 4;

template <std::size_t n_bytes>
struct Shape {
  static constexpr std::size_t kManyRows = 1;
  static constexpr std::size_t kGatherRows = 4;
  static constexpr std::size_t kGatherAhead = 4;
  static constexpr std::size_t kGatherBytes = 512;
  static constexpr std::size_t kTileQueries = n_bytes == 4 ? 4 : 3;
  static constexpr std::size_t kTileRows = n_bytes == 4 ? 1 : 2;
  static constexpr std::size_t kLongRow = kNeverLong;
};

#include "kernels/avx512_rows.inc"
#include "kernels/terms.inc"

#include "kernels/dense/rows.inc"

// Bfloat16 against bfloat16, two products per lane.
struct RowBf16Dot : Lanes {
  using Query = std::uint16_t;
  using Loaded = __m512bh;
  static constexpr std::size_t kWidth = 32;
  static constexpr std::size_t kBytes = 2;
  static Loaded load(const void* from) {
    return reinterpret_cast<Loaded>(_mm512_loadu_si512(from));
  }
  static Loaded load_tail(const void* from, std::size_t n) {
    const __mmask32 lanes = (1u << n) - 1u;
    return reinterpret_cast<Loaded>(_mm512_maskz_loadu_epi16(lanes, from));
  }
  static Loaded query(const Query* q) { return load(q); }
  static Loaded query_tail(const Query* q, std::size_t n) { return load_tail(q, n); }
};

struct Bf16DotTerm {
  static __m512 add_term(__m512 sum, __m512bh q, __m512bh r) { return _mm512_dpbf16_ps(sum, q, r); }
  static float finish(float sum) { return sum; }
};

}  // namespace

constinit const DenseFamily kDenseFamily = {
    {
        {kEntry<DotTerm, RowF32>, kEntry<DotTerm, RowF16>, kEntry<DotTerm, RowU8>,
         kEntry<DotTerm, RowI8>, kEntry<DotTerm, RowBf16>},
        {kEntry<L2Term, RowF32>, kEntry<L2Term, RowF16>, kEntry<L2Term, RowU8>,
         kEntry<L2Term, RowI8>, kEntry<L2Term, RowBf16>},
        {kEntry<L1Term, RowF32>, kEntry<L1Term, RowF16>, kEntry<L1Term, RowU8>,
         kEntry<L1Term, RowI8>, kEntry<L1Term, RowBf16>},
    },
    kEntry<Bf16DotTerm, RowBf16Dot>};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

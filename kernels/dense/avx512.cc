// One query against rows of f32, f16 or u8: the query comes from L1, rows are converted in
// registers, one fused product and sum per value into four partial sums per row; f16 at 256 bits.
//
// vfmadd zmm: latency 4 on Zen 4 and Golden Cove, one per cycle on Zen 4, two on Golden Cove. Four
// sums hide that latency on Zen 4; two and eight were no faster from memory (eight cost 15 %).
//
// Measured on Zen 4 (family 25, model 17), g++ 12.2, by bench/micro, one thread, medians; "share"
// is of the bandwidth of a loop with eight 64-byte accumulators over the same memory in the same
// run. 100,000 x 384, dot, read in order: f32 68-92 ns a row (93-104 %), f16 48 (93-107 %), u8
// 26-32 (77-93 %); gathered at random f32 150-210, f16 130, u8 66. Rows per pass, f32: one 100 %,
// two 46-57 %, four 50 %, so one. Software prefetch 0.5-8 KiB ahead cost 5-25 %, so none. Gathered:
// fetching 512 bytes four rows ahead takes 225 ns against 325 without.
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

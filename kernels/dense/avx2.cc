// f32 queries against rows of f32, f16, bf16, u8 or i8. Queries are read from L1 and rows are
// converted in registers. Each pair has four partial sums, with one fused multiply-add per value.
// bf16 against bf16 widens both.
//
// vfmadd ymm: latency 4, two per cycle on Zen 4 and Golden Cove. Four sums and three queries of a
// tile fill 12 of the 16 registers. One row per pass and no software prefetch: see avx512.cc.
//
// Measured on Zen 4 (family 25, model 17), g++ 12.2, by dense_bench, one thread, medians, ns per
// (query, row) of 384 values. 100,000 rows in order: f32 80-110 (90-110 % of the bandwidth that the
// same run measured), f16 55 (91 %), bf16 51 (88 %), u8 28 (72 %); at random f32 182, f16 132, u8
// 82; tiles of eight f32 12.7, f16 12.6, u8 11.5. From L2: f32 14.4, f16 14.0, u8 14.9; tiles
// 10.7-11 (62 % of the products a cycle). bf16 against bf16: 23, tiles 17.
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

constexpr std::size_t kSums = 4;

template <std::size_t n_bytes>
struct Shape {
  static constexpr std::size_t kManyRows = 1;
  static constexpr std::size_t kGatherRows = 2;
  static constexpr std::size_t kGatherAhead = 4;
  static constexpr std::size_t kGatherBytes = 512;
  static constexpr std::size_t kTileQueries = 3;
  static constexpr std::size_t kTileRows = 1;
  static constexpr std::size_t kLongRow = kNeverLong;
};

#include "kernels/avx2_rows.inc"
#include "kernels/terms.inc"

#include "kernels/dense/rows.inc"

// Bfloat16 against bfloat16: both are widened.
struct RowBf16Dot : RowBf16 {
  using Query = std::uint16_t;
  static V query(const Query* q) { return load(reinterpret_cast<const std::byte*>(q)); }
  static V query_tail(const Query* q, std::size_t n) {
    return load_tail(reinterpret_cast<const std::byte*>(q), n);
  }
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
    kEntry<DotTerm, RowBf16Dot>};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

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

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

constexpr std::size_t kSums = 4;
constexpr std::size_t kGatherRows = 4;
constexpr std::size_t kGatherAhead = 4;
constexpr std::size_t kGatherBytes = 512;

#include "kernels/avx512_rows.inc"
#include "kernels/terms.inc"

#include "kernels/dense/rows.inc"

}  // namespace

constinit const DenseFamily kDenseFamily = {{
    {kEntry<DotTerm, RowF32>, kEntry<DotTerm, RowF16>, kEntry<DotTerm, RowU8>},
    {kEntry<L2Term, RowF32>, kEntry<L2Term, RowF16>, kEntry<L2Term, RowU8>},
    {kEntry<L1Term, RowF32>, kEntry<L1Term, RowF16>, kEntry<L1Term, RowU8>},
}};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

// One query against rows of f32, f16 or u8: the query comes from L1, rows are converted in
// registers, one fused product and sum per value into four partial sums per row.
//
// vfmadd ymm: latency 4, two per cycle on Zen 4 and Golden Cove.
//
// Measured on Zen 4 (family 25, model 17), g++ 12.2, by bench/micro, one thread, medians; "share"
// is of the bandwidth of a loop with eight 64-byte accumulators over the same memory in the same
// run. 100,000 x 384, dot, read in order: f32 80 ns a row (110 %), f16 47-49 (97-105 %), u8 28-33
// (75-88 %); gathered at random f32 150-190, f16 130, u8 80-89. One row per pass and no software
// prefetch: see avx512.cc.
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

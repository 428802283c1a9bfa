#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

constexpr std::size_t kSums = 4;
constexpr std::size_t kGatherRows = 2;
constexpr std::size_t kGatherAhead = 4;
constexpr std::size_t kGatherBytes = 512;

#include "kernels/avx2_rows.inc"
#include "kernels/terms.inc"

#include "kernels/dense/rows.inc"

}  // namespace

constinit const DenseFamily kDenseFamily = {{
    {kEntry<DotTerm, RowF32>, kEntry<DotTerm, RowF16>, kEntry<DotTerm, RowU8>},
    {kEntry<L2Term, RowF32>, kEntry<L2Term, RowF16>, kEntry<L2Term, RowU8>},
    {kEntry<L1Term, RowF32>, kEntry<L1Term, RowF16>, kEntry<L1Term, RowU8>},
}};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

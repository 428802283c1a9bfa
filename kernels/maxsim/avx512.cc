#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

#include "kernels/avx512_rows.inc"
#include "kernels/terms.inc"

constexpr std::size_t kDocRows = 8;
constexpr std::size_t kBlocksPerTile = 2;  // one register each

#include "kernels/maxsim/tile.inc"

}  // namespace

constinit const MaxSimKernels kMaxSimKernels = {
    prepare,
    {
        {score<DotTerm, RowF32>, score<DotTerm, RowF16>, score<DotTerm, RowU8>},
        {score<L2Term, RowF32>, score<L2Term, RowF16>, score<L2Term, RowU8>},
        {score<L1Term, RowF32>, score<L1Term, RowF16>, score<L1Term, RowU8>},
    }};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

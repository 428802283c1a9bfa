// See f16c.inc: both vector levels share one body.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/half.h"
#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

#include "kernels/convert/f16c.inc"

}  // namespace

constinit const ConvertKernels kConvertKernels = {f32_to_f16,  f16_to_f32, u8_to_f32, f32_to_bf16,
                                                  bf16_to_f32, norm,       scale};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

// Conversion instructions take eight values at a time; f16c.inc is the body of both vector levels.
// bf16 is the upper half of an f32, rounded in integers; the compiler vectorises these loops, here
// with ymm.
//
// Instructions and sums: see avx512.cc.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians; ns a value, 2,048 values in L1.
// Percentages: time of the loop's instructions on registers alone, divided by the measured time.
// f32 to f16 .33 (70 %), f16 to f32 .12 (97 %), u8 to f32 .13 (89 %), norm .18 (88 %), scale .44
// (60 %); f32 to bf16 .37, bf16 to f32 .11 (49 % of the bandwidth of reading as many bytes).
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/float8.h"
#include "kernels/half.h"
#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

#include "kernels/convert/f16c.inc"

}  // namespace

constinit const ConvertKernels kConvertKernels = {
    f32_to_f16,  f16_to_f32,  u8_to_f32,   f32_to_u8,   i8_to_f32, f32_to_bf16,
    bf16_to_f32, e4m3_to_f32, e5m2_to_f32, bits_to_f32, norm,      scale};

}  // namespace quiver::avx2
QV_TARGET_END
#endif

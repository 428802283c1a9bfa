// Conversion instructions take eight values at a time; f16c.inc is the body of both vector levels.
// bf16 is the upper half of an f32, rounded in integers; the compiler vectorises these loops, here
// with zmm.
//
// vcvtph2ps ymm: latency 4 on Zen 4, 8 on Golden Cove; vcvtps2pd ymm: 4 and 7; vcvtps2ph ymm and
// vcvtpd2ps ymm: 8 and 7 on Golden Cove; one per cycle each, on both. Only the norm has sums: four
// registers of f64 hold the 16 partial sums that every level has. Their latency, 4 cycles for 16
// values, is no longer than the conversions and products take.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians; ns a value, 2,048 values in L1.
// Percentages: time of the loop's instructions on registers alone, divided by the measured time.
// f32 to f16 .33 (69 %), f16 to f32 .12 (all), u8 to f32 .19 (56 %), norm .18 (86 %), scale .44 (62
// %); f32 to bf16 .20, bf16 to f32 .058 (95 % of the bandwidth of reading as many bytes).
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/float8.h"
#include "kernels/half.h"
#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

#include "kernels/convert/f16c.inc"

}  // namespace

constinit const ConvertKernels kConvertKernels = {
    f32_to_f16,  f16_to_f32,  u8_to_f32,   f32_to_u8,   i8_to_f32, f32_to_bf16,
    bf16_to_f32, e4m3_to_f32, e5m2_to_f32, bits_to_f32, norm,      scale};

}  // namespace quiver::avx512
QV_TARGET_END
#endif

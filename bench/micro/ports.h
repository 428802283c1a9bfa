// Loops of kernels on registers alone: the instructions of one step without its loads, stores and
// branches, repeated on zeros. So only the executing ports, and sums that wait for themselves, take
// time. Registers 8 to 15 are only read.
#pragma once

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "bench/micro/peaks.h"

namespace quiver::ports {

/// Defines `name(n)`, which repeats the steps of `text` `n` times. The processor must have the
/// instructions.
#define QV_PORTS(name, text)                                                                \
  inline void name(std::size_t n) {                                                         \
    __asm__ volatile("vzeroall\n.p2align 5\n 1:\n" text "dec %0\n jnz 1b\n vzeroupper"      \
                     : "+r"(n)                                                              \
                     :                                                                      \
                     : "eax", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", \
                       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", \
                       "xmm15");                                                            \
  }

#define QV_2(text) text text
#define QV_4(text) QV_2(QV_2(text))

// clang-format off

// convert, both levels: 8 values; overflows are counted beside the conversion.
QV_PORTS(to_f16,
  "vandnps %%ymm8, %%ymm9, %%ymm0\n vcmpps $13, %%ymm10, %%ymm0, %%ymm1\n"
  "vcmpps $1, %%ymm11, %%ymm0, %%ymm2\n vandps %%ymm1, %%ymm2, %%ymm2\n"
  "vmovmskps %%ymm2, %%eax\n popcnt %%eax, %%eax\n vcvtps2ph $8, %%ymm8, %%xmm3\n")
QV_PORTS(from_f16, "vcvtph2ps %%xmm8, %%ymm0\n")
QV_PORTS(from_u8, "vpmovzxbd %%xmm8, %%ymm0\n vcvtdq2ps %%ymm0, %%ymm0\n")
QV_PORTS(length,  // 16 values
  "vcvtps2pd %%xmm8, %%ymm4\n vfmadd231pd %%ymm4, %%ymm4, %%ymm0\n"
  "vcvtps2pd %%xmm9, %%ymm5\n vfmadd231pd %%ymm5, %%ymm5, %%ymm1\n"
  "vcvtps2pd %%xmm8, %%ymm6\n vfmadd231pd %%ymm6, %%ymm6, %%ymm2\n"
  "vcvtps2pd %%xmm9, %%ymm7\n vfmadd231pd %%ymm7, %%ymm7, %%ymm3\n")
QV_PORTS(scaled, QV_2(
  "vcvtps2pd %%xmm8, %%ymm0\n vmulpd %%ymm0, %%ymm9, %%ymm0\n vcvtpd2ps %%ymm0, %%xmm0\n"))

// transform: a register through the ten stages of 1,024 values; signs; two registers of pairs.
#define QV_WITHIN(permute, r) permute ", %%" r "mm8, %%" r "mm0\n" \
  "vfmadd231ps %%" r "mm9, %%" r "mm10, %%" r "mm0\n"
#define QV_ADD(r) "vaddps %%" r "mm8, %%" r "mm9, %%" r "mm1\n"
#define QV_SUB(r) "vsubps %%" r "mm8, %%" r "mm9, %%" r "mm2\n"
QV_PORTS(hadamard_16,
  QV_WITHIN("vpermilps $177", "z") QV_WITHIN("vpermilps $78", "z")
  QV_WITHIN("vshuff32x4 $177, %%zmm8", "z") QV_WITHIN("vshuff32x4 $78, %%zmm8", "z")
  QV_ADD("z") QV_SUB("z") QV_ADD("z") QV_SUB("z") QV_ADD("z") QV_SUB("z"))
QV_PORTS(hadamard_8,
  QV_WITHIN("vpermilps $177", "y") QV_WITHIN("vpermilps $78", "y")
  QV_WITHIN("vperm2f128 $1, %%ymm8", "y")
  QV_ADD("y") QV_SUB("y") QV_ADD("y") QV_SUB("y") QV_ADD("y") QV_SUB("y") QV_ADD("y"))
QV_PORTS(flip_16,
  "kmovw %%eax, %%k1\n vmovaps %%zmm8, %%zmm0\n vpxord %%zmm9, %%zmm8, %%zmm0%{%%k1%}\n"
  "vmulps %%zmm0, %%zmm10, %%zmm1\n shr $16, %%eax\n")
QV_PORTS(flip_8,
  "vmovd %%eax, %%xmm0\n vpbroadcastd %%xmm0, %%ymm0\n vpsllvd %%ymm8, %%ymm0, %%ymm0\n"
  "vpand %%ymm9, %%ymm0, %%ymm0\n vxorps %%ymm10, %%ymm0, %%ymm0\n"
  "vmulps %%ymm0, %%ymm11, %%ymm0\n shr $8, %%eax\n")
#define QV_PAIR(r) QV_ADD(r) QV_SUB(r) "vmulps %%" r "mm1, %%" r "mm10, %%" r "mm1\n" \
  "vmulps %%" r "mm2, %%" r "mm10, %%" r "mm2\n"
QV_PORTS(pair_16, QV_PAIR("z"))
QV_PORTS(pair_8, QV_PAIR("y"))

// grid: 16 values; the largest of 64.
#define QV_STEP(round, r) "vmulps %%" r "mm8, %%" r "mm9, %%" r "mm0\n" \
  round ", %%" r "mm0, %%" r "mm1\n vmaxps %%" r "mm1, %%" r "mm10, %%" r "mm1\n" \
  "vminps %%" r "mm1, %%" r "mm11, %%" r "mm1\n vaddps %%" r "mm1, %%" r "mm12, %%" r "mm1\n"
#define QV_SUMS(r, dots, squares) \
  "vmulps %%" r "mm0, %%" r "mm1, %%" r "mm0\n vmulps %%" r "mm1, %%" r "mm1, %%" r "mm1\n" \
  "vaddps %%" r "mm0, %%" r dots ", %%" r dots "\n" \
  "vaddps %%" r "mm1, %%" r squares ", %%" r squares "\n"
QV_PORTS(measure_512, QV_STEP("vrndscaleps $9", "z") QV_SUMS("z", "mm4", "mm5"))
QV_PORTS(measure_256,
  QV_STEP("vroundps $9", "y") QV_SUMS("y", "mm4", "mm5")
  QV_STEP("vroundps $9", "y") QV_SUMS("y", "mm6", "mm7"))
QV_PORTS(encode_512,
  QV_STEP("vrndscaleps $9", "z") "vcvttps2dq %%zmm1, %%zmm1\n vpmovdb %%zmm1, %%xmm2\n")
QV_PORTS(encode_256,
  QV_2(QV_STEP("vroundps $9", "y") "vcvttps2dq %%ymm1, %%ymm1\n")
  "vpackusdw %%ymm1, %%ymm8, %%ymm2\n vpermq $216, %%ymm2, %%ymm2\n"
  "vextracti128 $1, %%ymm2, %%xmm3\n vpackuswb %%xmm3, %%xmm2, %%xmm2\n")
#define QV_GREATER(r, i, value) "vandps %%" r "mm8, %%" r "mm9, %%" r value "\n" \
  "vmaxps %%" r value ", %%" r i ", %%" r i "\n"
#define QV_GREATEST(r) QV_GREATER(r, "mm0", "mm4") QV_GREATER(r, "mm1", "mm5") \
  QV_GREATER(r, "mm2", "mm6") QV_GREATER(r, "mm3", "mm7")
QV_PORTS(largest_512, QV_GREATEST("z"))
QV_PORTS(largest_256, QV_2(QV_GREATEST("y")))

// sums: 64 of them.
QV_PORTS(reach_512,
  "vpcmpnltuw %%zmm8, %%zmm9, %%k0\n kmovd %%k0, %%eax\n vpcmpnltuw %%zmm8, %%zmm10, %%k1\n"
  "kmovd %%k1, %%eax\n popcnt %%rax, %%rax\n")
#define QV_REACH "vpmaxuw %%ymm8, %%ymm9, %%ymm0\n vpcmpeqw %%ymm0, %%ymm9, %%ymm0\n"
QV_PORTS(reach_256,
  QV_2(QV_2(QV_REACH) "vpacksswb %%ymm0, %%ymm10, %%ymm1\n vpermq $216, %%ymm1, %%ymm1\n"
       "vpmovmskb %%ymm1, %%eax\n") "popcnt %%rax, %%rax\n")

// sets: four values of a token by a word of planes, 16 such and one; 16 values of a sketch.
#define QV_DOT(sum) "vpdpbusd %%zmm8, %%zmm9, %%zmm" sum "\n"
QV_PORTS(products_512,
  QV_2(QV_DOT("0") QV_DOT("1") QV_DOT("2") QV_DOT("3")
       QV_DOT("4") QV_DOT("5") QV_DOT("6") QV_DOT("7")))
#define QV_MADD(sum) "vpmaddwd %%ymm8, %%ymm1, %%ymm2\n vpmaddwd %%ymm9, %%ymm0, %%ymm3\n" \
  "vpaddd %%ymm2, %%ymm3, %%ymm2\n vpaddd %%ymm2, %%ymm" sum ", %%ymm" sum "\n"
QV_PORTS(products_256,
  "vpsllw $8, %%ymm8, %%ymm0\n vpsraw $8, %%ymm0, %%ymm0\n vpsraw $8, %%ymm8, %%ymm1\n"
  QV_MADD("4") QV_MADD("5") "vpsrlw $8, %%ymm8, %%ymm6\n")
QV_PORTS(sketch_512,
  "vpermps %%zmm8, %%zmm9, %%zmm0\n vpxord %%zmm0, %%zmm10, %%zmm0\n"
  "vmulps %%zmm0, %%zmm11, %%zmm0\n vaddps %%zmm0, %%zmm12, %%zmm0\n")
QV_PORTS(sketch_256, QV_2(
  "vpermps %%ymm8, %%ymm9, %%ymm0\n vpermps %%ymm10, %%ymm9, %%ymm1\n"
  "vblendvps %%ymm11, %%ymm0, %%ymm1, %%ymm0\n vxorps %%ymm0, %%ymm12, %%ymm0\n"
  "vmulps %%ymm0, %%ymm13, %%ymm0\n vaddps %%ymm0, %%ymm14, %%ymm0\n"))

// signs: 8 query tokens by a document token of two words.
QV_PORTS(least_512,
  "vpxorq %%zmm8, %%zmm9, %%zmm0\n vpopcntq %%zmm0, %%zmm0\n vpxorq %%zmm8, %%zmm10, %%zmm1\n"
  "vpopcntq %%zmm1, %%zmm1\n vpaddq %%zmm0, %%zmm1, %%zmm0\n vpminud %%zmm0, %%zmm2, %%zmm2\n")
#define QV_COUNT "vpxor %%ymm8, %%ymm9, %%ymm0\n vpand %%ymm0, %%ymm10, %%ymm1\n" \
  "vpshufb %%ymm1, %%ymm11, %%ymm1\n vpsrlw $4, %%ymm0, %%ymm0\n" \
  "vpand %%ymm0, %%ymm10, %%ymm0\n vpshufb %%ymm0, %%ymm11, %%ymm0\n" \
  "vpaddb %%ymm0, %%ymm1, %%ymm0\n vpsadbw %%ymm0, %%ymm12, %%ymm0\n" \
  "vpaddq %%ymm0, %%ymm13, %%ymm0\n"
QV_PORTS(least_256, QV_2(QV_2(QV_COUNT) "vpminud %%ymm0, %%ymm2, %%ymm2\n"))

// codes: the table of four dimensions; 16 rows by 32 bits; 16 values.
#define QV_EVERYWHERE "vpermps %%zmm8, %%zmm9, %%zmm0\n"
QV_PORTS(table_512,
  QV_EVERYWHERE "vsubps %%zmm0, %%zmm10, %%zmm1\n"
  QV_4(QV_EVERYWHERE "vaddps %%zmm0, %%zmm1, %%zmm1%{%%k1%}\n")
  "vmulps %%zmm1, %%zmm11, %%zmm1\n vcvtps2dq %%zmm1, %%zmm1\n"
  "vpmaxsd %%zmm1, %%zmm10, %%zmm1\n vpmovusdb %%zmm1, %%xmm1\n")
#define QV_UNITS "vmulps %%ymm1, %%ymm11, %%ymm2\n vcvtps2dq %%ymm2, %%ymm2\n"
#define QV_ADD_WHERE "vpermilps $85, %%ymm8, %%ymm0\n vandps %%ymm0, %%ymm9, %%ymm0\n" \
  "vaddps %%ymm0, %%ymm10, %%ymm1\n"
QV_PORTS(table_256,
  QV_2(QV_ADD_WHERE) QV_ADD_WHERE "vaddps %%ymm8, %%ymm1, %%ymm3\n" QV_2(QV_UNITS)
  "vpackssdw %%ymm2, %%ymm8, %%ymm0\n vpackuswb %%ymm0, %%ymm0, %%ymm0\n"
  "vpermd %%ymm0, %%ymm12, %%ymm0\n")
QV_PORTS(line_512,
  "vpsrld $4, %%zmm8, %%zmm0\n vpternlogd $0xea, %%zmm9, %%zmm10, %%zmm0\n"
  "vmovdqa64 %%zmm8, %%zmm1\n vpternlogd $0xea, %%zmm9, %%zmm10, %%zmm1\n"
  "vpermb %%zmm11, %%zmm0, %%zmm2\n vpermb %%zmm12, %%zmm1, %%zmm3\n"
  "vpdpbusd %%zmm13, %%zmm2, %%zmm4\n vpdpbusd %%zmm13, %%zmm3, %%zmm5\n")
#define QV_LOOK_UP "vpand %%ymm8, %%ymm9, %%ymm0\n vpshufb %%ymm0, %%ymm10, %%ymm0\n" \
  "vpsrlw $8, %%ymm0, %%ymm1\n vpaddw %%ymm0, %%ymm2, %%ymm2\n vpaddw %%ymm1, %%ymm3, %%ymm3\n"
QV_PORTS(line_256, QV_2(
  "vpshufb %%ymm8, %%ymm11, %%ymm4\n vpunpckldq %%ymm8, %%ymm12, %%ymm5\n"
  "vpunpcklqdq %%ymm8, %%ymm12, %%ymm6\n vpsrlw $4, %%ymm8, %%ymm7\n" QV_LOOK_UP QV_LOOK_UP))
QV_PORTS(to_bytes_512,
  "vmulps %%zmm8, %%zmm9, %%zmm0\n vminps %%zmm0, %%zmm10, %%zmm0\n"
  "vmaxps %%zmm0, %%zmm11, %%zmm0\n vcvtps2dq %%zmm0, %%zmm0\n"
  "vpaddd %%zmm0, %%zmm1, %%zmm1\n vpmovdb %%zmm0, %%xmm2\n")

// clang-format on

/// 64 look-ups a step of a table in L1, by gather instructions of 16 and of 8.
inline constexpr std::uint32_t kLastWeight = 4095;
inline float g_table[kLastWeight + 1];
inline const auto g_indices = [] {
  std::array<std::uint32_t, 64> indices{};
  for (std::uint32_t i = 0; i < 64; ++i) indices[i] = (i * 2654435761U) >> 20;
  return indices;
}();
inline void gather_16(std::size_t n) {
  for (; n != 0; --n) gather(g_table, g_indices.data(), 64);
}
__attribute__((target("avx2"))) inline void gather_8(std::size_t n) {
  __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                    _mm256_setzero_ps()};
  for (; n != 0; --n) {
    QV_UNROLL for (std::size_t i = 0; i < 8; ++i) {
      const auto* at = reinterpret_cast<const __m256i*>(g_indices.data() + 8 * i);
      __m256& sum = sums[i % 4];
      sum = _mm256_add_ps(sum, _mm256_i32gather_ps(g_table, _mm256_loadu_si256(at), 4));
      __asm__ volatile("" : "+v"(sum));
    }
  }
  for (const auto& sum : sums) g_float_sink = _mm256_cvtss_f32(sum) * 0.0F;
}

#undef QV_2
#undef QV_4

}  // namespace quiver::ports

// Regions of code for one instruction set. Every header is included before QV_TARGET_BEGIN: a
// function of the standard library that was first seen inside a region could be the copy that the
// linker keeps for the whole program.
#pragma once

#define QV_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define QV_TARGET_BEGIN(features) \
  QV_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define QV_TARGET_END QV_PRAGMA(clang attribute pop)
#else
#define QV_TARGET_BEGIN(features) QV_PRAGMA(GCC push_options) QV_PRAGMA(GCC target(features))
#define QV_TARGET_END QV_PRAGMA(GCC pop_options)
#endif

/// For functions and lambdas whose arguments must stay in registers.
#define QV_INLINE __attribute__((always_inline)) inline
#define QV_INLINE_LAMBDA __attribute__((always_inline))

/// Stands before a loop of a few rounds over registers: an array stays in registers only if its
/// loops are unrolled. Where the compiler unrolls too late, use unroll.inc.
#if defined(__clang__)
#define QV_UNROLL QV_PRAGMA(clang loop unroll(full))
#else
#define QV_UNROLL QV_PRAGMA(GCC unroll 32)
#endif

/// Holds a vector in its register, where the compiler would load it again for each use.
#define QV_KEEP(vector) __asm__("" : "+v"(vector))

#define QV_AVX2 "avx2,fma,f16c,bmi2,popcnt"
#define QV_AVX512                                                                            \
  "avx2,fma,f16c,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512vpopcntdq," \
  "avx512vbmi,avx512vbmi2,avx512bf16"

// Loops of a few rounds over registers: arrays stay in registers only if their loops are unrolled.
#pragma once

#include "kernels/target.h"

/// Before such a loop.
#if defined(__clang__)
#define QV_UNROLL QV_PRAGMA(clang loop unroll(full))
#else
#define QV_UNROLL QV_PRAGMA(GCC unroll 32)
#endif

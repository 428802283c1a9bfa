// Which bytes a lane of a warp holds in the products of 8-bit integers (PTX manual, mma.m16n8k32):
// A is 16 rows of 32 bytes, B is 8 columns of 32 bytes, C is 16 x 8 sums. The same text runs on the
// device and in tests.
#pragma once

#include "gpu/tiles/margin.h"

namespace quiver::gpu::tiles {

/// Shape of the product.
inline constexpr unsigned kProductRows = 16;
inline constexpr unsigned kProductColumns = 8;
inline constexpr unsigned kProductBytes = 32;

/// Place of four bytes of an operand: a row or column, and the first of its bytes.
struct Word {
  unsigned vector;
  unsigned byte;
};

/// Register 0 to 3 of A.
QV_ON_BOTH constexpr Word word_of_a(unsigned lane, unsigned i) {
  return {lane / 4 + 8 * (i % 2), 4 * (lane % 4) + 16 * (i / 2)};
}

/// Register 0 or 1 of B.
QV_ON_BOTH constexpr Word word_of_b(unsigned lane, unsigned i) {
  return {lane / 4, 4 * (lane % 4) + 16 * i};
}

/// Place of a sum, register 0 to 3 of C.
QV_ON_BOTH constexpr unsigned row_of_c(unsigned lane, unsigned i) { return lane / 4 + 8 * (i / 2); }
QV_ON_BOTH constexpr unsigned column_of_c(unsigned lane, unsigned i) {
  return 2 * (lane % 4) + i % 2;
}

}  // namespace quiver::gpu::tiles

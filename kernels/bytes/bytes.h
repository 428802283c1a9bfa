// Similarities of bytes and bytes, in integers.
#pragma once

#include <cstdint>

#include "kernels/row_kernels.h"
#include "kernels/similarity.h"

namespace quiver {

/// Exact; `dim` <= 65,536. Distances are positive here, not negated.
struct ByteKernels {
  /// u8 query, u8 rows: dot product, squared distance, absolute distance, indexed by Similarity.
  RowKernels<std::uint8_t, std::uint32_t> u8[kSimilarities];
  /// i8 query, u8 rows: dot product. A format that stores i8 plus 128 subtracts 128 times the sum
  /// of the query.
  RowKernels<std::int8_t, std::int32_t> u8_dot_i8;
  /// i8 rows; the query is i8 plus 128, as u8. The result is the dot product with that u8 query: a
  /// format subtracts 128 times the sum of the row, which it stores.
  RowKernels<std::uint8_t, std::int32_t> i8_dot;
  /// i8 rows and a query prepared as for `i8_dot`: distances of the i8 values.
  RowKernels<std::uint8_t, std::uint32_t> i8_l2;
  RowKernels<std::uint8_t, std::uint32_t> i8_l1;
};

}  // namespace quiver

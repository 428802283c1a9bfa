// Vectors as codes of 8 bits with what is needed to bound their scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/views.h"
#include "gpu/abi.h"
#include "kernels/similarity.h"

namespace quiver::gpu {

/// Bytes of a row of codes.
[[nodiscard]] constexpr std::uint32_t code_stride(std::uint32_t dim) {
  return (dim + QV_ROW_ALIGNMENT - 1) / QV_ROW_ALIGNMENT * QV_ROW_ALIGNMENT;
}

/// Share of |q| |x| that the score of any kernel level may be off by: at least 16 sums, added at
/// the end, twice for safety.
[[nodiscard]] constexpr float kernel_rounding(std::uint32_t dim) {
  return (static_cast<float>(dim) / 16 + 8) * 0x1p-23F;
}

/// Codes of some rows, `[n, code_stride]`.
struct EncodedRows {
  std::vector<std::int8_t> codes;
  std::vector<qv_row> rows;
};

/// Rows `[first, first + n)` of f32, f16, bf16 or u8. False if a value is not finite or a length is
/// above 1e18: their bounds would overflow.
[[nodiscard]] bool encode_rows(const MatrixView& rows, std::size_t first, std::size_t n,
                               EncodedRows& out);

/// Writes `[code_stride]` codes. False if the query is zero, not finite, or longer or shorter than
/// f32 arithmetic bears. `query.k` is left alone.
[[nodiscard]] bool encode_query(std::span<const float> vector, Similarity similarity,
                                std::int8_t* codes, qv_query& query);

}  // namespace quiver::gpu

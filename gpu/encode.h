// Vectors as codes of 8 bits with what is needed to bound their scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/views.h"
#include "gpu/abi.h"
#include "gpu/devices.h"
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

/// Bytes of a token of halves.
[[nodiscard]] constexpr std::uint32_t token_stride(std::uint32_t dim) {
  return code_stride(2 * dim);
}
[[nodiscard]] constexpr std::uint64_t padded_tokens(std::uint64_t n) {
  return (n + QV_TOKEN_GROUP - 1) / QV_TOKEN_GROUP * QV_TOKEN_GROUP;
}

/// Share of the sum of |q|, times the largest |x|, that scores of documents may be off by: a chain
/// of `dim` additions on the CPU, products on the device that drop what does not fit 24 bits, and
/// the sums over `n_tokens` of the query. Together they stay below three quarters of it.
[[nodiscard]] constexpr float token_rounding(std::uint32_t dim, std::uint32_t n_tokens) {
  return (static_cast<float>(dim) + static_cast<float>(n_tokens) + 16) * 0x1p-21F;
}

/// Most tokens of a document on a device, so that none keeps a part of it busy for seconds.
inline constexpr std::uint64_t kMostTokens = 8192;

/// Tokens of some documents, `[n, token_stride / 2]` halves with those that are repeated.
/// `first_group` counts from the first of them.
struct EncodedDocuments {
  std::vector<std::uint16_t> tokens;
  std::vector<qv_document> documents;
};

/// Documents `[first, first + n)` of f32, f16, bf16 or u8 tokens. False if a value is no finite
/// half, or a document has more than `kMostTokens`.
[[nodiscard]] bool encode_documents(const Documents& documents, std::size_t first, std::size_t n,
                                    EncodedDocuments& out);

/// Writes `[padded_tokens, token_stride / 2]` halves of the tokens `[n, dim]`. False if there are
/// none, all values are about zero, or one is no finite half. `k` and `first_group` are left alone.
[[nodiscard]] bool encode_tokens(std::span<const float> tokens, std::uint32_t dim,
                                 std::uint16_t* halves, qv_token_query& query);

/// Writes `[code_stride]` codes. False if the query is zero, not finite, or longer or shorter than
/// f32 arithmetic bears. `query.k` is left alone.
[[nodiscard]] bool encode_query(std::span<const float> vector, Similarity similarity,
                                std::int8_t* codes, qv_query& query);

}  // namespace quiver::gpu

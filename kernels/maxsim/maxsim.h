// Late interaction (MaxSim): for each query token the greatest similarity to any document token,
// summed over the query tokens.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/similarity.h"

namespace quiver {

/// Packed codes of document tokens, of 4 or 2 bits a dimension. A code is a number of a level
/// below.
///
/// 32 dimensions take 16 bytes at 4 bits: byte j has dimensions j and 16 + j. They take 8 bytes at
/// 2 bits: byte j has dimensions j, 8 + j, 16 + j and 24 + j. The first of them is in the lowest
/// bits. The number of dimensions is a multiple of 32.
struct PackedLevels {
  /// Levels with the least squared error for a normal distribution (Max, IRE Transactions on
  /// Information Theory 6, 1960, table I). They are scaled by 127 / the largest level, and 128 is
  /// added.
  static constexpr std::uint8_t k4Bits[16] = {1,   32,  53,  70,  84,  97,  110, 122,
                                              134, 146, 159, 172, 186, 203, 224, 255};
  static constexpr std::uint8_t k2Bits[4] = {1, 90, 166, 255};
};

/// A query is prepared once into blocks of 16 tokens, `[n_blocks, dim, 16]` f32, the last one
/// zero-padded. The layout is the same on every level. A NaN similarity (overflow) never wins. The
/// memory behind a document is prefetched.
///
/// Codes: all tokens share one scale. A query token is i8. A document token is u8, its i8 codes
/// plus 128, because instructions multiply u8 by i8; the 128 adds the same to every document token.
/// Exact; `dim` <= 65,536.
struct MaxSimKernels {
  /// `tokens` is `[n_query, dim]` f32, row i at `tokens + i * stride_floats`; writes
  /// `prepared_floats(n_query, dim)` floats. Exact.
  void (*prepare)(const float* tokens, std::size_t n_query, std::uint32_t dim,
                  std::size_t stride_floats, float* prepared);
  /// `doc` is `[n_doc, dim]` of the stored type, `n_doc` >= 1. Indexed by [Similarity][token_type].
  float (*score[kSimilarities][kTokenTypes])(const float* prepared, std::size_t n_query,
                                             std::uint32_t dim, const std::byte* doc,
                                             std::size_t stride_bytes, std::size_t n_doc);

  /// `tokens` is `[n_query, dim]`; writes `prepared_codes(n_query, dim)` bytes: blocks of
  /// `[1 + dim / 4 rounded up, 16]` groups of four bytes. A token's first group is -128 * the sum
  /// of its codes, as i32; then come its codes, zero-padded.
  void (*prepare_codes)(const std::int8_t* tokens, std::size_t n_query, std::uint32_t dim,
                        std::size_t stride_bytes, std::int8_t* prepared);
  /// `doc` is `[n_doc, dim]` u8, `n_doc` >= 1. The result is the MaxSim of the i8 codes.
  std::int64_t (*score_codes)(const std::int8_t* prepared, std::size_t n_query, std::uint32_t dim,
                              const std::byte* doc, std::size_t stride_bytes, std::size_t n_doc);
  /// Like `score_codes`, for packed codes (`PackedLevels`); `dim` is a multiple of 32.
  std::int64_t (*score_codes_4bit)(const std::int8_t* prepared, std::size_t n_query,
                                   std::uint32_t dim, const std::byte* doc,
                                   std::size_t stride_bytes, std::size_t n_doc);
  std::int64_t (*score_codes_2bit)(const std::int8_t* prepared, std::size_t n_query,
                                   std::uint32_t dim, const std::byte* doc,
                                   std::size_t stride_bytes, std::size_t n_doc);
  /// Writes the terms that `score_codes` adds: `best[i]` is the maximum of query token i. If
  /// `which` is not nullptr, `which[i]` becomes the first document token with that maximum; this
  /// takes several times as long.
  void (*best_codes)(const std::int8_t* prepared, std::size_t n_query, std::uint32_t dim,
                     const std::byte* doc, std::size_t stride_bytes, std::size_t n_doc,
                     std::int32_t* best, std::uint32_t* which);

  /// Matrix product: adds the dot product of query token i and row j to `out[j * out_stride + i]`,
  /// as one chain of sums over the dimensions. `rows` is `[n_rows, dim]`.
  void (*add_products)(const float* prepared, std::size_t n_query, std::uint32_t dim,
                       const float* rows, std::size_t stride_floats, std::size_t n_rows, float* out,
                       std::size_t out_stride);

  [[nodiscard]] static constexpr std::size_t prepared_floats(std::size_t n_query,
                                                             std::uint32_t dim) {
    return (n_query + 15) / 16 * 16 * dim;
  }
  [[nodiscard]] static constexpr std::size_t prepared_codes(std::size_t n_query,
                                                            std::uint32_t dim) {
    return (n_query + 15) / 16 * 64 * (1 + (std::size_t{dim} + 3) / 4);
  }
};

}  // namespace quiver

// The tokens of all documents in codes: approximate MaxSim, between a first stage and exact scores.
#pragma once

#include <cstdint>
#include <span>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "index/index.h"
#include "index/multi/tokens/token_codec.h"
#include "index/multi/tokens/token_query.h"
#include "kernels/kernels.h"

namespace quiver::index::multi {

/// The start of a document of `n_bytes` at `at`, before it is scored.
void prefetch_document(const void* at, std::size_t n_bytes);

/// Where the codes of a row's tokens are.
struct TokenPlace {
  std::uint64_t offset = 0;  ///< in bytes, a multiple of 64
  std::uint64_t n_tokens = 0;
};

/// Mapped and immutable; copies share memory. Any number of threads.
class TokenCodes {
 public:
  /// Fits a codec of `bits`, 8, 4 or 2, to the column's tokens and codes them. `column` is of Dot
  /// or Cosine.
  static Result<> write(const FieldColumn& column, std::uint32_t bits, const BuildContext& context,
                        SectionWriter& writer);
  /// What was written of the same column.
  static Result<TokenCodes> open(const SectionReader& reader, const FieldColumn& column);

  [[nodiscard]] const TokenCodec& codec() const { return codec_; }
  [[nodiscard]] std::size_t n_rows() const { return places_.size(); }
  [[nodiscard]] std::uint64_t n_tokens(std::uint32_t row) const { return places_[row].n_tokens; }
  [[nodiscard]] const std::byte* of_row(std::uint32_t row) const {
    return codes_.data() + places_[row].offset;
  }
  /// Of the row's codes.
  [[nodiscard]] std::size_t n_bytes(std::uint32_t row) const {
    return places_[row].n_tokens * codec_.token_bytes();
  }

  /// About the MaxSim of `query`, which was set with this codec, and the row; NaN if either has no
  /// token.
  [[nodiscard]] float score_row(const TokenQuery& query, std::uint32_t row) const;
  /// Writes the scores of `rows` to `out`, which has room for as many. Prefetches; rows in the
  /// order of their numbers lie in order in memory. Polls `cancel` and then answers its error.
  Result<> score(const TokenQuery& query, std::span<const std::uint32_t> rows, const Cancel& cancel,
                 float* out) const;

 private:
  using Scorer = decltype(MaxSimKernels::score_codes);

  TokenCodes(TokenCodec codec, SharedBytes codes, SharedSpan<TokenPlace> places);

  TokenCodec codec_;
  Scorer scorer_;
  SharedBytes codes_;
  SharedSpan<TokenPlace> places_;
};

}  // namespace quiver::index::multi

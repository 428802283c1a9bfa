// Codes of all documents' tokens, for approximate MaxSim between a first stage and exact scores.
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

/// Prefetches the start of a document of `n_bytes` bytes at `at`.
void prefetch_document(const void* at, std::size_t n_bytes);

/// Place of a row's token codes.
struct TokenPlace {
  std::uint64_t offset = 0;  ///< bytes, a multiple of 64
  std::uint64_t n_tokens = 0;
};

/// Mapped and immutable; copies share memory. Any number of threads.
class TokenCodes {
 public:
  /// Fits a codec of `bits` bits (8, 4 or 2) to the tokens of `column`, of metric Dot or Cosine,
  /// and codes them.
  static Result<> write(const FieldColumn& column, std::uint32_t bits, const BuildContext& context,
                        SectionWriter& writer);
  /// Reads what was written for the same column.
  static Result<TokenCodes> open(const SectionReader& reader, const FieldColumn& column);

  [[nodiscard]] const TokenCodec& codec() const { return codec_; }
  [[nodiscard]] std::size_t n_rows() const { return places_.size(); }
  /// Of a row whose place is damaged: none.
  [[nodiscard]] std::uint64_t n_tokens(std::uint32_t row) const { return place(row).n_tokens; }
  [[nodiscard]] const std::byte* of_row(std::uint32_t row) const {
    return codes_.data() + place(row).offset;
  }

  /// Approximate MaxSim of `query`, set with this codec, and the row. NaN if either has no token.
  [[nodiscard]] float score_row(const TokenQuery& query, std::uint32_t row) const;
  /// Writes the score of each of `rows` to `out`. Prefetches; ascending rows are ascending in
  /// memory. Polls `cancel` and then returns its error.
  Result<> score(const TokenQuery& query, std::span<const std::uint32_t> rows, const Cancel& cancel,
                 float* out) const;

 private:
  using Scorer = decltype(MaxSimKernels::score_codes);

  TokenCodes(TokenCodec codec, SharedBytes codes, SharedSpan<TokenPlace> places);
  /// The row's place; the file may have changed after opening, then it may be empty.
  [[nodiscard]] TokenPlace place(std::uint32_t row) const {
    const TokenPlace found = places_[row];
    const std::size_t n_bytes = codes_.size();
    const bool is_inside = found.n_tokens <= n_bytes && found.offset <= n_bytes &&
                           found.offset % 64 == 0 &&
                           found.n_tokens * codec_.token_bytes() <= n_bytes - found.offset;
    return is_inside ? found : TokenPlace();
  }
  void prefetch(std::uint32_t row) const;

  TokenCodec codec_;
  Scorer scorer_;
  SharedBytes codes_;
  SharedSpan<TokenPlace> places_;
};

}  // namespace quiver::index::multi

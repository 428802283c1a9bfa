// The tokens of a multi-vector column as f32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encoders/set_encoder.h"
#include "index/vector_column.h"

namespace quiver::index::multi {

/// Any number of threads. Borrows the column; memory: 8 bytes per row.
class TokenSource {
 public:
  explicit TokenSource(const FieldColumn& column);

  [[nodiscard]] std::uint32_t dim() const { return tokens_.dim; }
  /// Number of tokens of all rows.
  [[nodiscard]] std::uint64_t n_tokens() const { return offsets_.back(); }
  [[nodiscard]] std::uint64_t n_tokens(std::uint32_t row) const {
    return offsets_[row + 1] - offsets_[row];
  }
  /// Mean over rows with tokens.
  [[nodiscard]] double tokens_per_row() const;
  /// `[n_rows + 1]`: row i has tokens `[offsets[i], offsets[i + 1])`.
  [[nodiscard]] std::span<const std::uint64_t> offsets() const { return offsets_; }
  /// Writes token `token` to `out`, `[dim()]`; under Cosine of unit length, or zero.
  void read(std::uint64_t token, float* out) const;

 private:
  const DenseColumn& tokens_;
  /// A copy: builds read offsets repeatedly, and must see the same values even if the file is
  /// damaged meanwhile (base/io/mapped_region.h).
  std::vector<std::uint64_t> offsets_;
  std::uint32_t n_present_;
  bool normalise_;
};

/// Token sets of rows, as encoders take them; holds their tokens as f32.
class TokenSets {
 public:
  TokenSets(const TokenSource& tokens, std::span<const std::uint32_t> rows);
  TokenSets(const TokenSets&) = delete;
  TokenSets& operator=(const TokenSets&) = delete;
  TokenSets(TokenSets&&) = default;  // vectors keep their memory when they are moved
  TokenSets& operator=(TokenSets&&) = default;

  /// One set per row, in order.
  [[nodiscard]] std::span<const encoders::TokenSet> sets() const { return sets_; }

 private:
  std::vector<float> values_;
  std::vector<encoders::TokenSet> sets_;
};

/// Tokens held as f32 at one time, per thread: 8 MiB with 128 dimensions.
inline constexpr std::uint64_t kTokensPerBatch = 16'384;

/// The longest prefix of `rows` with at most `max_tokens` tokens; at least one row.
[[nodiscard]] std::span<const std::uint32_t> first_rows(const TokenSource& tokens,
                                                        std::span<const std::uint32_t> rows,
                                                        std::uint64_t max_tokens);

/// Calls `visit(some)` for all of `rows`, in order, with at most kTokensPerBatch tokens at a time.
template <class Visit>
void for_some_rows(const TokenSource& tokens, std::span<const std::uint32_t> rows, Visit visit) {
  while (!rows.empty()) {
    const auto some = first_rows(tokens, rows, kTokensPerBatch);
    visit(some);
    rows = rows.subspan(some.size());
  }
}

}  // namespace quiver::index::multi

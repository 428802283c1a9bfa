// Where the words of a query are in the texts of one column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bitset.h"
#include "payload/column/column.h"

namespace quiver::payload {

/// The rows that hold one token.
struct TokenRows {
  std::uint32_t term = ColumnView::kNoTerm;   ///< kNoTerm: no row has the token
  std::span<const std::uint32_t> rows = {};   ///< ascending
  std::span<const std::uint8_t> counts = {};  ///< of each row; see `ColumnView::posting_counts`
  std::uint64_t first_posting = 0;            ///< number of the first one; sealed columns only

  [[nodiscard]] std::size_t size() const { return rows.size(); }
};

/// The occurrences of some tokens in one column of an index with scoring. Those of a sealed column
/// lie in its file, those of a growing one are collected.
class Occurrences {
 public:
  /// `tokens`: distinct. Shares the memory of `column`.
  Occurrences(const ColumnView& column, std::span<const std::string> tokens);
  Occurrences(Occurrences&&) = default;  // a copy would refer to rows that the original collected

  [[nodiscard]] const ColumnView& column() const { return column_; }
  [[nodiscard]] std::size_t n_tokens() const { return tokens_.size(); }
  [[nodiscard]] const TokenRows& token(std::size_t i) const { return tokens_[i]; }
  /// How often each token is in `row`: writes `n_tokens()` counts.
  void count(std::uint32_t row, std::span<std::uint32_t> counts) const;
  /// Number of rows of `within` (nullptr: all rows) that hold token `i`.
  [[nodiscard]] std::uint64_t n_rows(std::size_t i, const Bitset* within) const;

 private:
  struct Collected {
    std::vector<std::uint32_t> rows;
    std::vector<std::uint8_t> counts;
  };
  void collect();
  void collect_tail(std::uint32_t first_row);

  void count_by_scan(std::span<const std::uint32_t> terms, std::span<std::uint32_t> counts) const;
  [[nodiscard]] std::uint32_t count_by_postings(std::size_t i, std::uint32_t row,
                                                std::span<const std::uint32_t> terms) const;

  ColumnView column_;
  std::vector<TokenRows> tokens_;
  std::uint64_t last_bits_ = 0;       ///< bit `term % 64` of each token's term
  std::vector<Collected> collected_;  ///< of a growing column, one for each token
};

}  // namespace quiver::payload

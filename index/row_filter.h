// Which rows of a segment a search may return.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bits.h"
#include "base/bitset.h"
#include "index/listed_rows.h"

namespace quiver::index {

/// Rows in blocks of 64, a word each. Three kinds: every row, the bits of a bitmap, or
/// `ListedRows`, whose allowed rows are found without a look at all words. Deletes, absent vectors
/// and the user's filter are all in it. Borrowed for one search; any number of threads.
class RowFilter final {
 public:
  /// Every row in `[0, n_rows)`.
  [[nodiscard]] static RowFilter all(std::uint32_t n_rows) { return {n_rows, nullptr, nullptr}; }
  /// The set bits of `allowed`.
  [[nodiscard]] static RowFilter of(const Bitset& allowed) {
    return {static_cast<std::uint32_t>(allowed.size()), allowed.words().data(), nullptr};
  }
  [[nodiscard]] static RowFilter of(const ListedRows& allowed) {
    return {allowed.n_rows(), allowed.words(), &allowed};
  }

  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }
  /// True for `all`: there are no words.
  [[nodiscard]] bool allows_all() const { return words_ == nullptr; }
  [[nodiscard]] bool allows(std::uint32_t row) const {
    return words_ == nullptr || (words_[row / 64] >> (row % 64) & 1) != 0;
  }
  /// True if `listed` has the allowed rows.
  [[nodiscard]] bool is_listed() const { return listed_ != nullptr; }
  /// The allowed rows, ascending. Only if `is_listed()`.
  [[nodiscard]] std::span<const std::uint32_t> listed() const { return listed_->rows(); }

  /// Words indexed by row / 64; nullptr if every row is allowed.
  [[nodiscard]] const std::uint64_t* words() const { return words_; }
  /// The word of block `block`, rows `[64 * block, 64 * block + 64)`; no bits beyond `n_rows()`.
  [[nodiscard]] std::uint64_t block(std::uint32_t block) const {
    if (words_ != nullptr) return words_[block];
    const std::uint32_t n = n_rows_ - block * 64;
    return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
  }
  /// Number of the first block from `block` on with an allowed row; `n_blocks()` if there is none.
  [[nodiscard]] std::uint32_t next_block(std::uint32_t block) const {
    while (block < n_blocks() && this->block(block) == 0) ++block;
    return block;
  }
  [[nodiscard]] std::uint32_t n_blocks() const { return n_rows_ / 64 + (n_rows_ % 64 != 0); }
  /// Calls `visit(row)` for each allowed row from `begin` on, ascending.
  template <class Visit>
  void for_each(std::uint32_t begin, Visit&& visit) const {
    if (is_listed()) {
      const auto rows = listed();
      std::for_each(std::lower_bound(rows.begin(), rows.end(), begin), rows.end(), visit);
      return;
    }
    for (std::uint32_t b = next_block(begin / 64); b < n_blocks(); b = next_block(b + 1)) {
      for (std::uint64_t rest = block(b); rest != 0; rest &= rest - 1) {
        const std::uint32_t row = b * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
        if (row >= begin) visit(row);
      }
    }
  }

  /// Number of allowed rows. Counts all words of a bitmap.
  [[nodiscard]] std::size_t n_allowed() const {
    if (words_ == nullptr) return n_rows_;
    if (is_listed()) return listed().size();
    return count_bits(std::span<const std::uint64_t>(words_, n_blocks()));
  }

 private:
  RowFilter(std::uint32_t n_rows, const std::uint64_t* words, const ListedRows* listed)
      : n_rows_(n_rows), words_(words), listed_(listed) {}

  std::uint32_t n_rows_;
  const std::uint64_t* words_;
  const ListedRows* listed_;
};

}  // namespace quiver::index

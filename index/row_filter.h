// Which rows of a segment a search may return.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bits.h"
#include "base/bitset.h"
#include "index/lazy_rows.h"

namespace quiver::index {

/// Rows in blocks of 64, a word each. Three kinds: every row, the bits of a bitmap, or `LazyRows`,
/// whose blocks are filled when they are asked for. Deletes, absent vectors and the user's filter
/// are all in it. Borrowed for one search; any number of threads.
class RowFilter final {
 public:
  /// Every row in `[0, n_rows)`.
  [[nodiscard]] static RowFilter all(std::uint32_t n_rows) { return {n_rows, nullptr, nullptr}; }
  /// The set bits of `allowed`.
  [[nodiscard]] static RowFilter of(const Bitset& allowed) {
    return {static_cast<std::uint32_t>(allowed.size()), allowed.words().data(), nullptr};
  }
  [[nodiscard]] static RowFilter of(const LazyRows& allowed) {
    return {allowed.n_rows(), allowed.words(), &allowed};
  }

  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }
  /// True for `all`: there are no words.
  [[nodiscard]] bool allows_all() const { return words_ == nullptr; }
  [[nodiscard]] bool allows(std::uint32_t row) const {
    if (words_ == nullptr) return true;
    if (lazy_ != nullptr) lazy_->ensure(row, row + 1);
    return (words_[row / 64] >> (row % 64) & 1) != 0;
  }

  /// Words indexed by row / 64, valid for rows `[begin, end)`; nullptr if every row is allowed.
  [[nodiscard]] const std::uint64_t* words(std::uint32_t begin, std::uint32_t end) const {
    if (lazy_ != nullptr) lazy_->ensure(begin, end);
    return words_;
  }
  /// The same, valid for `rows`.
  [[nodiscard]] const std::uint64_t* words_of(std::span<const std::uint32_t> rows) const {
    if (lazy_ != nullptr) {
      for (const std::uint32_t row : rows) lazy_->ensure(row, row + 1);
    }
    return words_;
  }
  /// The word of block `block`, rows `[64 * block, 64 * block + 64)`; no bits beyond `n_rows()`.
  [[nodiscard]] std::uint64_t block(std::uint32_t block) const {
    if (words_ != nullptr) return words(block * 64, block * 64 + 64)[block];
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
    for (std::uint32_t b = next_block(begin / 64); b < n_blocks(); b = next_block(b + 1)) {
      for (std::uint64_t rest = block(b); rest != 0; rest &= rest - 1) {
        const std::uint32_t row = b * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
        if (row >= begin) visit(row);
      }
    }
  }

  /// Number of allowed rows. Counts all words; fills all blocks of `LazyRows`.
  [[nodiscard]] std::size_t n_allowed() const {
    if (words_ == nullptr) return n_rows_;
    return lazy_ != nullptr ? lazy_->count()
                            : count_bits(std::span<const std::uint64_t>(words_, n_blocks()));
  }
  /// `n_allowed()`, but for `LazyRows` their estimate. 0 only if no row is allowed.
  [[nodiscard]] std::size_t n_allowed_estimate() const {
    return lazy_ != nullptr ? lazy_->estimate() : n_allowed();
  }
  /// True if the estimate is the number.
  [[nodiscard]] bool is_counted() const { return lazy_ == nullptr; }

 private:
  RowFilter(std::uint32_t n_rows, const std::uint64_t* words, const LazyRows* lazy)
      : n_rows_(n_rows), words_(words), lazy_(lazy) {}

  std::uint32_t n_rows_;
  const std::uint64_t* words_;
  const LazyRows* lazy_;
};

}  // namespace quiver::index

// Postings of a text column that still grows, made when a query first asks for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "payload/column/column.h"

namespace quiver::payload {

/// The terms of rows `[first_row, first_row + n_rows)`, each with its rows and counts.
class PostingsBlock {
 public:
  PostingsBlock(const ColumnView& column, std::uint32_t first_row, std::uint32_t n_rows);

  struct List {
    std::span<const std::uint32_t> rows;   ///< ascending
    std::span<const std::uint8_t> counts;  ///< as `ColumnView::posting_counts`
  };
  /// Empty if no row has the term.
  [[nodiscard]] List list(std::uint32_t term) const;
  [[nodiscard]] std::uint32_t first_row() const { return first_row_; }
  [[nodiscard]] std::uint32_t end_row() const { return first_row_ + n_rows_; }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  std::uint32_t first_row_;
  std::uint32_t n_rows_;
  std::vector<std::uint32_t> terms_;    ///< distinct, ascending
  std::vector<std::uint32_t> offsets_;  ///< `[terms + 1]`
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint8_t> counts_;
};

/// Any number of threads may ask.
class GrowingPostings {
 public:
  using Blocks = std::vector<std::shared_ptr<const PostingsBlock>>;

  /// Blocks of the first rows of `column`, one after the other from row 0. The last few rows are in
  /// none: fewer than `kRowsPerBlock`.
  [[nodiscard]] Blocks blocks(const ColumnView& column);
  [[nodiscard]] std::size_t memory_bytes() const;

  static constexpr std::uint32_t kRowsPerBlock = 512;

 private:
  mutable Mutex mutex_;
  Blocks blocks_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::payload

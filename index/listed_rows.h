// The few rows that a strict filter allows, as a list beside a bitmap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bitset.h"

namespace quiver::index {

/// Makes and ends in time in proportion to the few rows: a thread keeps a bitmap of zeros, sets the
/// bits of the rows, and clears them at the end.
class ListedRows {
 public:
  /// Rows are listed if they are at most one in so many: a word of 64 rows takes as long in a pass
  /// over a bitmap as a listed row, and a filter and a search need several passes.
  static constexpr std::uint32_t kRowsPerListed = 512;

  /// `rows` ascend, are distinct and below `n_rows`.
  ListedRows(std::uint32_t n_rows, std::vector<std::uint32_t> rows);
  ListedRows(ListedRows&&) noexcept = default;
  ListedRows& operator=(ListedRows&&) = delete;
  ~ListedRows();

  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }
  [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_; }
  /// `[n_rows / 64]`, rounded up, or more.
  [[nodiscard]] const std::uint64_t* words() const { return bits_.words().data(); }

 private:
  std::uint32_t n_rows_;
  std::vector<std::uint32_t> rows_;
  Bitset bits_;
};

}  // namespace quiver::index

// The allowed rows of a filter that is evaluated block by block, when a search first asks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"

namespace quiver::index {

/// Any number of threads. A block is filled once, under a lock; filled blocks are read without one.
class LazyRows {
 public:
  /// Rows of a block: a multiple of 64.
  static constexpr std::uint32_t kBlockRows = 4096;

  /// Writes bit i of the words for row `first_row + i`. `first_row` is a multiple of `kBlockRows`.
  /// Bits of rows at and beyond the number of rows stay 0.
  using Fill = std::function<void(std::uint32_t first_row, std::span<std::uint64_t> words)>;

  /// `estimate`: number of allowed rows, about; 0 only if no row is allowed.
  LazyRows(std::uint32_t n_rows, std::size_t estimate, Fill fill);

  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }
  [[nodiscard]] std::size_t estimate() const { return estimate_; }
  /// `[n_rows / 64]`, rounded up; words of blocks that were never ensured are 0.
  [[nodiscard]] const std::uint64_t* words() const { return words_.data(); }
  /// Fills the blocks that hold rows `[begin, end)`.
  void ensure(std::uint32_t begin, std::uint32_t end) const;
  /// Fills all blocks and counts.
  [[nodiscard]] std::size_t count() const;

 private:
  void fill_block(std::uint32_t block) const QV_EXCLUDES(mutex_);

  std::uint32_t n_rows_;
  std::size_t estimate_;
  Fill fill_;
  mutable std::vector<std::uint64_t> words_;
  std::unique_ptr<std::atomic<bool>[]> is_filled_;  ///< one for each block
  mutable Mutex mutex_;                             ///< held while a block is filled
};

}  // namespace quiver::index

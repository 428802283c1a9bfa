// PointId → row of a mutable segment, for one writer and any number of readers.
//
// Invariants:
//  1. Rows are only added. A point that is written again has several rows; a reader keeps the one
//     that is alive in its snapshot.
//  2. A slot goes once from empty to a row number, by a release store; a reader that sees a row
//     beyond its snapshot skips it.
//  3. A table that gets too full is replaced by a larger one; readers of the old one keep it alive
//     and find in it every row of their snapshot.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"

namespace quiver::engine {

class IdTable {
 public:
  /// Slots for `n_rows` rows at most half full.
  explicit IdTable(std::size_t n_rows)
      : slots_(std::bit_ceil(std::max<std::size_t>(n_rows, 8) * 2)), mask_(slots_.size() - 1) {}

  [[nodiscard]] std::size_t capacity() const { return slots_.size() / 2; }
  [[nodiscard]] std::size_t memory_bytes() const { return slots_.size() * sizeof(slots_[0]); }

  /// The writer only; fewer than `capacity()` rows so far.
  void insert(const PointId& id, std::uint32_t row) {
    std::size_t slot = id.hash() & mask_;
    while (slots_[slot].load(std::memory_order_relaxed) != 0) slot = (slot + 1) & mask_;
    slots_[slot].store(row + 1, std::memory_order_release);
  }

  /// Calls `visit(row)` for the rows of `id` among `ids` until it returns true; true if it did.
  template <class Visit>
  bool find(const PointId& id, std::span<const PointId> ids, Visit&& visit) const {
    for (std::size_t slot = id.hash() & mask_;; slot = (slot + 1) & mask_) {
      const std::uint32_t row = slots_[slot].load(std::memory_order_acquire);
      if (row == 0) return false;
      if (row <= ids.size() && ids[row - 1] == id && visit(row - 1)) return true;
    }
  }

 private:
  std::vector<std::atomic<std::uint32_t>> slots_;  ///< row + 1; 0 is empty
  std::size_t mask_;
};

}  // namespace quiver::engine

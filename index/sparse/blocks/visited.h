// The rows that a query has met, as a hash table: it stays in L1 for the hundreds of rows that a
// query scores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quiver::index::sparse {

class VisitedRows {
 public:
  void clear() {
    slots_.assign(kMinSlots, kEmpty);
    n_ = 0;
  }
  /// Inserts `row`, which is not 2^32 - 1; false if it was there.
  bool insert(std::uint32_t row) {
    std::uint32_t* slot = slot_of(row);
    if (*slot == row) return false;
    *slot = row;
    if (++n_ * 2 > slots_.size()) grow();
    return true;
  }
  [[nodiscard]] std::size_t size() const { return n_; }

 private:
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;
  static constexpr std::size_t kMinSlots = 1024;

  /// The slot that holds `row` or is free for it. There is always a free slot.
  std::uint32_t* slot_of(std::uint32_t row) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = (row * 0x9E3779B1U >> 7) & mask;  // Fibonacci hashing
    while (slots_[i] != row && slots_[i] != kEmpty) i = (i + 1) & mask;
    return &slots_[i];
  }
  void grow() {
    std::vector<std::uint32_t> old(slots_.size() * 2, kEmpty);
    old.swap(slots_);
    for (const std::uint32_t row : old) {
      if (row != kEmpty) *slot_of(row) = row;
    }
  }

  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(kMinSlots, kEmpty);
  std::size_t n_ = 0;
};

}  // namespace quiver::index::sparse

// Finds numbers by the hashes of what they stand for: one thread adds, any thread finds.
//
// Invariants:
//  1. Numbers are only added. The same hash may have several.
//  2. A slot goes once from free to a number, by a release store. A reader may meet numbers that
//     were added after its snapshot was taken, and passes over them.
//  3. A table that gets too full is replaced by a larger one. Readers of the old one keep it alive
//     and find in it every number of their snapshot.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quiver {

class SlotTable {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;  ///< no number

  /// Slots for `n` numbers at most half full.
  explicit SlotTable(std::size_t n)
      : slots_(std::bit_ceil(std::max<std::size_t>(n, 8) * 2)), mask_(slots_.size() - 1) {}

  [[nodiscard]] std::size_t capacity() const { return slots_.size() / 2; }
  [[nodiscard]] std::size_t memory_bytes() const { return slots_.size() * sizeof(slots_[0]); }

  /// The writer only; fewer than `capacity()` numbers so far. `number` is below kNone.
  void add(std::uint64_t hash, std::uint32_t number) {
    std::size_t slot = hash & mask_;
    while (slots_[slot].load(std::memory_order_relaxed) != 0) slot = (slot + 1) & mask_;
    slots_[slot].store(number + 1, std::memory_order_release);
  }

  /// The first number for which `is_wanted(number)` is true, among those with the hash and some
  /// others; kNone if there is none.
  template <class IsWanted>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, IsWanted&& is_wanted) const {
    for (std::size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      const std::uint32_t stored = slots_[slot].load(std::memory_order_acquire);
      if (stored == 0) return kNone;
      if (is_wanted(stored - 1)) return stored - 1;
    }
  }

 private:
  std::vector<std::atomic<std::uint32_t>> slots_;  ///< number + 1; 0 is free
  std::size_t mask_;
};

}  // namespace quiver

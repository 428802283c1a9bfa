// Finds the terms of a growing column by their hashes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quiver::payload {

/// Numbers of terms in open addressing. One thread adds numbers, ascending from 0, while others
/// find them. A reader may meet numbers that were added after its view was taken; it passes over
/// them.
class TermTable {
 public:
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  /// `n_slots`: a power of two, at least twice the number of terms that will be added.
  explicit TermTable(std::size_t n_slots) : slots_(n_slots) {
    for (auto& slot : slots_) slot.store(kFree, std::memory_order_relaxed);
  }

  [[nodiscard]] std::size_t n_slots() const { return slots_.size(); }

  void add(std::uint64_t hash, std::uint32_t id) {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].load(std::memory_order_relaxed) != kFree) at = (at + 1) & (slots_.size() - 1);
    slots_[at].store(id, std::memory_order_relaxed);
  }

  /// The first number with this hash for which `is_wanted(id)` is true; kFree if there is none.
  template <class IsWanted>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, IsWanted is_wanted) const {
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      const std::uint32_t id = slots_[at].load(std::memory_order_relaxed);
      if (id == kFree || is_wanted(id)) return id;
    }
  }

 private:
  std::vector<std::atomic<std::uint32_t>> slots_;
};

}  // namespace quiver::payload

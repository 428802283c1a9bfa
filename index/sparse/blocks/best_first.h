// Blocks by falling estimate, sorted only as far as they are read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace quiver::index::sparse {

/// A block and its estimate in one number: larger is better, ties go to the lower block.
class ScoredBlock {
 public:
  ScoredBlock() = default;
  ScoredBlock(std::uint32_t sum, std::uint32_t block)
      : key_(std::uint64_t{sum} << 32 | (0xFFFFFFFF - block)) {}
  [[nodiscard]] std::uint32_t sum() const { return static_cast<std::uint32_t>(key_ >> 32); }
  [[nodiscard]] std::uint32_t block() const {
    return 0xFFFFFFFF - static_cast<std::uint32_t>(key_);
  }
  friend auto operator<=>(const ScoredBlock&, const ScoredBlock&) = default;

 private:
  std::uint64_t key_ = 0;
};

/// Borrows `blocks` and reorders them, in chunks of 32, 32, 64, 128, …
class BestFirst {
 public:
  explicit BestFirst(std::span<ScoredBlock> blocks) : blocks_(blocks) {}

  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  /// The i-th best block.
  const ScoredBlock& operator[](std::size_t i) {
    while (i >= n_sorted_) sort_more();
    return blocks_[i];
  }

 private:
  static constexpr std::size_t kFirstChunk = 32;

  void sort_more() {
    const std::size_t chunk = std::max(kFirstChunk, n_sorted_);
    const std::size_t end = std::min(n_sorted_ + chunk, blocks_.size());
    const auto at = [&](std::size_t i) { return blocks_.begin() + static_cast<std::ptrdiff_t>(i); };
    if (end < blocks_.size()) {
      std::nth_element(at(n_sorted_), at(end), blocks_.end(), std::greater<>());
    }
    std::sort(at(n_sorted_), at(end), std::greater<>());
    n_sorted_ = end;
  }

  std::span<ScoredBlock> blocks_;
  std::size_t n_sorted_ = 0;
};

}  // namespace quiver::index::sparse

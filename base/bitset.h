// A bitmap over row numbers: the result of a filter or the mask of a search.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bits.h"

namespace quiver {

/// `size` bits in 64-bit words; bits past `size` are always 0. Single writer.
class Bitset {
 public:
  Bitset() = default;
  explicit Bitset(std::size_t size, bool value = false)
      : size_(size), words_((size + 63) / 64, value ? ~std::uint64_t{0} : 0) {
    clear_tail();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool test(std::size_t i) const { return (words_[i / 64] >> (i % 64)) & 1; }
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void reset(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  void set_all() {
    for (auto& word : words_) word = ~std::uint64_t{0};
    clear_tail();
  }

  /// Bits past the old size become 0.
  void resize(std::size_t size) {
    size_ = size;
    words_.resize((size + 63) / 64, 0);
    clear_tail();
  }

  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }
  [[nodiscard]] std::span<std::uint64_t> words() { return words_; }

  [[nodiscard]] std::size_t count() const {
    return count_bits(std::span<const std::uint64_t>(words_));
  }
  [[nodiscard]] bool none() const {
    for (const auto word : words_) {
      if (word != 0) return false;
    }
    return true;
  }

  /// `other` has the same size.
  Bitset& operator&=(const Bitset& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
    return *this;
  }
  Bitset& operator|=(const Bitset& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
    return *this;
  }
  /// Clears the bits that are set in `other`, which has the same size.
  Bitset& subtract(const Bitset& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= ~other.words_[w];
    return *this;
  }

  /// Calls `visit(i)` for every set bit in ascending order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1) {
        visit(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      }
    }
  }

  friend bool operator==(const Bitset&, const Bitset&) = default;

 private:
  void clear_tail() {
    if (size_ % 64 != 0) words_.back() &= (std::uint64_t{1} << (size_ % 64)) - 1;
  }

  std::size_t size_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace quiver

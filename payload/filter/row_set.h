// Rows of a segment while a filter is evaluated.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/bitset.h"

namespace quiver::payload {

/// A bitmap that keeps all words of 64 rows, or those of a few rows only: then no operation takes
/// longer than the few rows do, however many rows the segment has. A set without rows has no words.
/// Sets that are combined come from the same one by `none_like`, copies and operations. One thread.
class RowSet {
 public:
  RowSet() = default;
  explicit RowSet(Bitset rows) : n_rows_(rows.size()), bits_(std::move(rows)) {}

  /// `rows` ascend; each is below `n_rows`.
  [[nodiscard]] static RowSet listed(std::size_t n_rows, std::span<const std::uint32_t> rows) {
    auto places = std::make_shared<std::vector<std::uint32_t>>();
    for (const std::uint32_t row : rows) {
      if (places->empty() || places->back() != row / 64) places->push_back(row / 64);
    }
    RowSet set(n_rows, std::move(places));
    for (const std::uint32_t row : rows) set.set(row);
    return set;
  }
  [[nodiscard]] static RowSet none_like(const RowSet& other) {
    return RowSet(other.n_rows_, other.places_);
  }

  /// The rows of `within` whose byte in `flags`, one for each row of the segment, is not 0.
  [[nodiscard]] static RowSet flagged(const RowSet& within, const std::uint8_t* flags);

  /// Rows of the segment.
  [[nodiscard]] std::size_t size() const { return n_rows_; }
  /// True if only the words of a few rows are kept.
  [[nodiscard]] bool is_listed() const { return places_ != nullptr; }

  [[nodiscard]] bool test(std::size_t row) const {
    if (bits_.size() == 0) return false;
    const std::size_t bit = bit_of(row);
    return bit < bits_.size() && bits_.test(bit);
  }
  /// Without effect if the row's word is not kept.
  void set(std::size_t row) {
    if (bits_.size() == 0) bits_ = Bitset(n_bits());
    const std::size_t bit = bit_of(row);
    if (bit < bits_.size()) bits_.set(bit);
  }
  void reset(std::size_t row) {
    if (test(row)) bits_.reset(bit_of(row));
  }

  [[nodiscard]] bool none() const { return bits_.none(); }
  [[nodiscard]] std::size_t count() const { return bits_.count(); }

  RowSet& operator&=(const RowSet& other) {
    if (other.bits_.size() == 0) bits_ = Bitset();
    if (bits_.size() != 0) bits_ &= other.bits_;
    return *this;
  }
  RowSet& operator|=(const RowSet& other) {
    if (other.bits_.size() == 0) return *this;
    if (bits_.size() == 0) {
      bits_ = other.bits_;
    } else {
      bits_ |= other.bits_;
    }
    return *this;
  }
  /// Takes away the rows of `other`.
  RowSet& subtract(const RowSet& other) {
    if (bits_.size() != 0 && other.bits_.size() != 0) bits_.subtract(other.bits_);
    return *this;
  }

  /// Calls `visit(row)` for each row, ascending.
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (places_ == nullptr) return bits_.for_each(visit);
    const auto words = bits_.words();
    for (std::size_t w = 0; w < words.size(); ++w) {
      for (std::uint64_t rest = words[w]; rest != 0; rest &= rest - 1) {
        visit((*places_)[w] * std::size_t{64} + static_cast<std::size_t>(std::countr_zero(rest)));
      }
    }
  }

  /// Bits in use, and the bit of a row that is in the set. For tables with an entry for each row.
  [[nodiscard]] std::size_t n_bits() const {
    return places_ == nullptr ? n_rows_ : places_->size() * 64;
  }
  [[nodiscard]] std::size_t bit_of(std::size_t row) const {
    if (places_ == nullptr) return row;
    const auto& places = *places_;
    if (place_ >= places.size() || places[place_] != row / 64) {
      const bool is_next = place_ + 1 < places.size() && places[place_ + 1] == row / 64;
      const auto found = is_next ? places.begin() + static_cast<std::ptrdiff_t>(place_ + 1)
                                 : std::lower_bound(places.begin(), places.end(), row / 64);
      if (found == places.end() || *found != row / 64) return SIZE_MAX;
      place_ = static_cast<std::size_t>(found - places.begin());
    }
    return place_ * 64 + row % 64;
  }

  /// A bit for each row of the segment. Not for listed rows.
  [[nodiscard]] Bitset take_bits() && {
    return bits_.size() == 0 ? Bitset(n_rows_) : std::move(bits_);
  }
  /// `[n_rows / 64]`, rounded up; empty if there are no rows. Not for listed rows.
  [[nodiscard]] std::span<const std::uint64_t> words() const { return bits_.words(); }

 private:
  using Places = std::shared_ptr<const std::vector<std::uint32_t>>;
  RowSet(std::size_t n_rows, Places places) : n_rows_(n_rows), places_(std::move(places)) {}

  std::size_t n_rows_ = 0;
  Places places_;  ///< numbers of the words that are kept, ascending; nullptr: all words
  Bitset bits_;    ///< of the kept words; of size 0 if there are no rows
  mutable std::size_t place_ = 0;  ///< of the row that was looked for last: rows mostly ascend
};

/// Rows that surely match, and rows that only their document can decide. Disjoint.
struct Verdict {
  RowSet yes;
  RowSet maybe;

  [[nodiscard]] static Verdict none_like(const RowSet& rows) {
    return {RowSet::none_like(rows), RowSet::none_like(rows)};
  }
};

}  // namespace quiver::payload

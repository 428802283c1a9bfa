// Which rows of a segment a search may return.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bitset.h"

namespace quiver::index {

/// Deletes, absent vectors and the user's filter are already in it. Borrowed for one search.
class FilterView {
 public:
  /// Every row in `[0, n_rows)`.
  [[nodiscard]] static FilterView all(std::uint32_t n_rows) { return FilterView(n_rows, nullptr); }
  /// The set bits of `allowed`.
  [[nodiscard]] static FilterView of(const Bitset& allowed) {
    return FilterView(static_cast<std::uint32_t>(allowed.size()), &allowed);
  }

  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }
  /// Counts.
  [[nodiscard]] std::size_t n_allowed() const {
    return bits_ == nullptr ? n_rows_ : bits_->count();
  }
  /// nullptr: every row.
  [[nodiscard]] const Bitset* bits() const { return bits_; }
  [[nodiscard]] bool allows(std::uint32_t row) const {
    return bits_ == nullptr || bits_->test(row);
  }

 private:
  FilterView(std::uint32_t n_rows, const Bitset* bits) : n_rows_(n_rows), bits_(bits) {}

  std::uint32_t n_rows_;
  const Bitset* bits_;
};

}  // namespace quiver::index

// Groups of rows that pairs connect: a forest of disjoint sets.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace quiver::engine {

/// One thread.
class RowGroups {
 public:
  explicit RowGroups(std::size_t n) : parents_(n) {
    std::iota(parents_.begin(), parents_.end(), 0U);
  }

  /// The row that stands for the group of `row`.
  [[nodiscard]] std::uint32_t of(std::uint32_t row) {
    while (parents_[row] != row) row = parents_[row] = parents_[parents_[row]];
    return row;
  }
  /// `winner`, which stands for its group, also stands for that of `other` from now on.
  void join(std::uint32_t winner, std::uint32_t other) { parents_[other] = winner; }

 private:
  std::vector<std::uint32_t> parents_;
};

}  // namespace quiver::engine

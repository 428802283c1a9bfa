// Choosing rows of a partition: by 1-bit codes, and by the bounds of their costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace quiver::index::dense::osq {

/// Positions of the `n` smallest of `distances`, ascending; of equal ones the first. Distances are
/// at most `max_distance`. Takes one pass and a count of each distance instead of a sort.
inline void choose_smallest(std::span<const std::uint32_t> distances, std::uint32_t max_distance,
                            std::size_t n, std::vector<std::uint32_t>& out) {
  std::vector<std::size_t> counts(std::size_t{max_distance} + 1, 0);
  for (const std::uint32_t distance : distances) ++counts[distance];
  std::uint32_t last = 0;
  std::size_t n_below = 0;
  for (; last < max_distance && n_below + counts[last] < n; ++last) n_below += counts[last];
  std::size_t n_of_last = n - std::min(n, n_below);
  out.clear();
  for (std::uint32_t i = 0; i < distances.size(); ++i) {
    if (distances[i] > last || (distances[i] == last && n_of_last == 0)) continue;
    if (distances[i] == last) --n_of_last;
    out.push_back(i);
  }
}

struct CostOfRow {
  float cost = 0;
  std::uint32_t row = 0;

  friend bool operator<(const CostOfRow& a, const CostOfRow& b) {
    return a.cost != b.cost ? a.cost < b.cost : a.row < b.row;
  }
};

/// The `n` rows of least cost, in a heap; n >= 1.
class CheapestRows {
 public:
  explicit CheapestRows(std::size_t n) : n_(n) {}

  /// Costs above this are not kept.
  [[nodiscard]] float limit() const {
    return heap_.size() < n_ ? std::numeric_limits<float>::infinity() : heap_.front().cost;
  }
  void offer(CostOfRow row) {
    if (heap_.size() == n_) {
      if (!(row < heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    heap_.push_back(row);
    std::push_heap(heap_.begin(), heap_.end());
  }
  /// In no order.
  [[nodiscard]] std::span<const CostOfRow> rows() const { return heap_; }

 private:
  std::size_t n_;
  std::vector<CostOfRow> heap_;
};

}  // namespace quiver::index::dense::osq

// Choosing rows of a partition: by 1-bit codes, and by the bounds of their costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace quiver::index::dense::osq {

/// Positions of the `n` smallest of `distances`, the smallest first; of equal ones the first.
/// Distances are at most `max_distance`. A counting sort.
inline void choose_smallest(std::span<const std::uint32_t> distances, std::uint32_t max_distance,
                            std::size_t n, std::vector<std::uint32_t>& out) {
  std::vector<std::size_t> places(std::size_t{max_distance} + 2, 0);
  for (const std::uint32_t distance : distances) ++places[distance + 1];
  for (std::size_t d = 1; d < places.size(); ++d) places[d] += places[d - 1];
  out.resize(std::min(n, distances.size()));
  for (std::uint32_t i = 0; i < distances.size(); ++i) {
    const std::size_t place = places[distances[i]]++;
    if (place < out.size()) out[place] = i;
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

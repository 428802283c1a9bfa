// The rows with the best approximate scores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace quiver::index::sparse {

struct ScoredRow {
  float score = 0;
  std::uint32_t row = 0;

  /// Best first; ties by row.
  friend bool operator<(const ScoredRow& a, const ScoredRow& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  }
};

/// The `n` best rows offered, in any order of offering. Reuses its memory.
class BestRows {
 public:
  void start(std::size_t n) {
    n_ = n;
    heap_.clear();
  }
  [[nodiscard]] bool full() const { return heap_.size() >= n_; }
  /// The score that a row must reach; -infinity while there is room.
  [[nodiscard]] float threshold() const {
    return full() && n_ > 0 ? heap_.front().score : -std::numeric_limits<float>::infinity();
  }
  [[nodiscard]] const std::vector<ScoredRow>& candidates() const { return heap_; }

  /// True if the row is now one of the best.
  bool offer(ScoredRow candidate) {
    if (n_ == 0) return false;
    if (full()) {
      if (!(candidate < heap_.front())) return false;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end());
    return true;
  }

  /// Moves the rows to `out`, best first.
  void take(std::vector<ScoredRow>& out) {
    std::sort_heap(heap_.begin(), heap_.end());
    out.assign(heap_.begin(), heap_.end());
    heap_.clear();
  }

 private:
  std::size_t n_ = 0;
  std::vector<ScoredRow> heap_;  ///< worst first
};

}  // namespace quiver::index::sparse

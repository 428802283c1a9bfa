// Rows that may be hits, by the scores of their records.
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

  /// Ties are ordered by row.
  friend bool operator<(const ScoredRow& a, const ScoredRow& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  }
};

/// The `n` best candidates offered, whatever the order of offering. Keeps its memory from one
/// search to the next.
class BestRows {
 public:
  void start(std::size_t n) {
    n_ = n;
    heap_.clear();
  }
  [[nodiscard]] bool full() const { return heap_.size() >= n_; }
  /// The score that a candidate must reach; -infinity while there is room.
  [[nodiscard]] float threshold() const {
    return full() && n_ > 0 ? heap_.front().score : -std::numeric_limits<float>::infinity();
  }
  [[nodiscard]] const std::vector<ScoredRow>& candidates() const { return heap_; }

  /// Whether it is one of the best now.
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

  /// Best first, into `out`.
  void take(std::vector<ScoredRow>& out) {
    std::sort_heap(heap_.begin(), heap_.end());
    out.assign(heap_.begin(), heap_.end());
    heap_.clear();
  }

 private:
  std::size_t n_ = 0;
  std::vector<ScoredRow> heap_;  ///< the worst in front
};

}  // namespace quiver::index::sparse

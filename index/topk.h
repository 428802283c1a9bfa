// The k best hits so far, in the order of every answer: score, then id.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/ids.h"

namespace quiver::index {

/// `score`: larger is better, never NaN.
struct Hit {
  float score = 0;
  std::uint32_t row = 0;
};

/// Bounded heap; one thread. Ties go by PointId, so hits do not depend on the order of offering.
class TopK {
 public:
  /// `ids`: PointId of each row; empty if row order is id order.
  /// `shared_floor`: a score that k hits elsewhere reach, shared by the threads of one query. Hits
  /// strictly below it are dropped.
  explicit TopK(std::size_t k, std::span<const PointId> ids = {},
                std::atomic<float>* shared_floor = nullptr)
      : k_(k), ids_(ids), shared_floor_(shared_floor) {}

  [[nodiscard]] std::size_t k() const { return k_; }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

  /// Hits below this score need not be offered; hits equal to it may still enter.
  [[nodiscard]] float threshold() const {
    const float own = heap_.size() < k_ || k_ == 0 ? -std::numeric_limits<float>::infinity()
                                                   : heap_.front().score;
    if (shared_floor_ == nullptr) return own;
    const float shared = shared_floor_->load(std::memory_order_relaxed);
    return own > shared ? own : shared;
  }

  void offer(float score, std::uint32_t row) {
    if (!(score >= threshold()) || k_ == 0) return;
    push({score, row});
  }

  [[nodiscard]] std::span<const PointId> ids() const { return ids_; }
  [[nodiscard]] std::atomic<float>* shared_floor() const { return shared_floor_; }

  /// The hits, best first. Leaves this empty.
  [[nodiscard]] std::vector<Hit> take_sorted();

 private:
  [[nodiscard]] bool better(const Hit& a, const Hit& b) const {
    if (a.score != b.score) return a.score > b.score;
    return ids_.empty() ? a.row < b.row : ids_[a.row] < ids_[b.row];
  }
  void push(Hit hit);
  void raise_shared_floor();

  std::size_t k_;
  std::span<const PointId> ids_;
  std::atomic<float>* shared_floor_;
  std::vector<Hit> heap_;  ///< worst hit first
};

}  // namespace quiver::index

// How far a walk goes beyond the best rows that it has found.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/kernels.h"

namespace quiver::index::dense {

/// Ends a walk at the first node that is estimated much farther than the k-th best row (Al-Jazzazi
/// et al., Distance Adaptive Beam Search, 2025, section 3). An easy query then takes few visits and
/// a hard one many, where a number of visits takes the same of all.
class Reach {
 public:
  /// What scores are.
  struct Scale {
    Similarity similarity = Similarity::kDot;
    float length = 1;         ///< of rows and of the query; Dot
    float least_squared = 0;  ///< squared distances below this count as this
  };

  /// `k`: wanted rows, at least 1. `share`: how much greater than that of the k-th best row a
  /// squared distance may be, >= 0. Infinity: any.
  void reset(std::size_t k, float share, const Scale& scale) {
    k_ = k;
    share_ = share;
    scale_ = scale;
    bound_ = -std::numeric_limits<float>::infinity();
    best_.clear();
  }
  /// `score`: of a visited row that is allowed.
  void add(float score) {
    // Second codes give the largest number where values overflow.
    if (!std::isfinite(share_) || !(std::abs(score) < std::numeric_limits<float>::max())) return;
    if (best_.size() == k_) {
      if (score <= best_.front()) return;
      std::pop_heap(best_.begin(), best_.end(), std::greater<>());
      best_.back() = score;
    } else {
      best_.push_back(score);
    }
    std::push_heap(best_.begin(), best_.end(), std::greater<>());
    if (best_.size() < k_) return;
    const float bound = bound_for(best_.front());
    bound_ = std::isfinite(bound) ? bound : -std::numeric_limits<float>::infinity();
  }
  /// Nodes with smaller scores need no visit. Minus infinity until k rows are known.
  [[nodiscard]] float bound() const { return bound_; }

 private:
  [[nodiscard]] float bound_for(float kth) const {
    if (scale_.similarity == Similarity::kNegL2Squared) {
      return kth - share_ * std::max(-kth, scale_.least_squared);
    }
    const float squared = 2 * (scale_.length * scale_.length - kth);
    return kth - share_ * std::max(squared, scale_.least_squared) / 2;
  }

  std::size_t k_ = 1;
  float share_ = 0;
  Scale scale_;
  float bound_ = 0;
  std::vector<float> best_;  ///< a heap, the worst first
};

}  // namespace quiver::index::dense

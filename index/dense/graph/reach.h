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

/// Ends a walk where the next node is estimated much farther than the k-th best row (Al-Jazzazi
/// et al., Distance Adaptive Beam Search, 2025, section 3). An easy query then takes few visits and
/// a hard one many, where a number of visits takes the same of all.
///
/// A visited node is expanded only if it is near by its second code, too: most visited nodes are
/// not, because the codes beside links are coarse. This bound is the second share's.
class Reach {
 public:
  /// No bound.
  static constexpr float kNone = -std::numeric_limits<float>::infinity();
  /// How much greater than that of the k-th best row a squared distance may be, >= 0. Infinity:
  /// any.
  struct Shares {
    float visited = 0;   ///< of a node that is visited, estimated by the code beside a link
    float expanded = 0;  ///< of a node that is expanded, by its second code
  };
  /// What scores are.
  struct Scale {
    Similarity similarity = Similarity::kDot;
    float length = 1;         ///< of rows and of the query; Dot
    float least_squared = 0;  ///< squared distances below this count as this
  };

  /// `k`: wanted rows, at least 1.
  void reset(std::size_t k, const Shares& shares, const Scale& scale) {
    k_ = k;
    shares_ = shares;
    scale_ = scale;
    bound_ = kNone;
    expansion_bound_ = kNone;
    best_.clear();
  }
  /// `score`: of a visited row that is allowed.
  void add(float score) {
    // Second codes give the largest number where values overflow.
    const bool has_bound = std::isfinite(shares_.visited) || std::isfinite(shares_.expanded);
    if (!has_bound || !(std::abs(score) < std::numeric_limits<float>::max())) return;
    if (best_.size() == k_) {
      if (score <= best_.front()) return;
      std::pop_heap(best_.begin(), best_.end(), std::greater<>());
      best_.back() = score;
    } else {
      best_.push_back(score);
    }
    std::push_heap(best_.begin(), best_.end(), std::greater<>());
    if (best_.size() < k_) return;
    bound_ = bound_for(best_.front(), shares_.visited);
    expansion_bound_ = bound_for(best_.front(), shares_.expanded);
  }
  /// Nodes with smaller estimates need no visit. Minus infinity until k rows are known.
  [[nodiscard]] float bound() const { return bound_; }
  /// Nodes with smaller scores need not be expanded. Minus infinity until k rows are known.
  [[nodiscard]] float expansion_bound() const { return expansion_bound_; }

 private:
  [[nodiscard]] float bound_for(float kth, float share) const {
    const bool is_distance = scale_.similarity == Similarity::kNegL2Squared;
    const float squared = is_distance ? -kth : 2 * (scale_.length * scale_.length - kth);
    const float room = share * std::max(squared, scale_.least_squared);
    const float bound = kth - (is_distance ? room : room / 2);
    return std::isfinite(bound) ? bound : kNone;
  }

  std::size_t k_ = 1;
  Shares shares_;
  Scale scale_;
  float bound_ = kNone;
  float expansion_bound_ = kNone;
  std::vector<float> best_;  ///< a heap, the worst first
};

}  // namespace quiver::index::dense

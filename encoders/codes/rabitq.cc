// The best grid point is the nearest one to some multiple t * r (Gao et al., 2025, section 3.2). As
// t grows, coordinates cross into their next cells one after the other; the paper tries all
// crossings. The cosine is nearly flat around its maximum, so a few multiples are enough. First
// come multiples that put the largest value a little inside or outside the grid. Then comes the
// multiple with the least distance to the point found so far, as in Lloyd's iteration.
#include "encoders/codes/rabitq.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

/// The first multiple puts the largest value at 0.8 of the grid's end. The last one puts it at
/// 0.8 * 1.15^13 = 4.9 ends, which only heavy tails at 2 bits need.
constexpr float kFirstShareOfGrid = 0.8f;
constexpr float kMultipleGrowth = 1.15f;
constexpr int kMaxMultiples = 14;
/// The sweep ends after so many multiples without a better point.
constexpr int kMaxMultiplesWithoutGain = 3;
constexpr int kLloydSteps = 2;
/// Vectors whose largest value is below this count as zero: their multiples might not be finite.
constexpr float kLeastLargestValue = 1e-35f;

struct GridPoint {
  float multiple = 0;
  GridSums sums;

  /// Square of |r| times the cosine; |r| is the same for all points, and <v, y> > 0 always.
  [[nodiscard]] double quality() const {
    const double dot = double{sums.dot} / double{multiple};
    return dot * dot / double{sums.squares};
  }
};

class MultipleSearch {
 public:
  MultipleSearch(std::span<const float> values, float half) : values_(values), half_(half) {}

  /// Returns true if this multiple is the best so far.
  bool try_multiple(float multiple) {
    const GridPoint found{multiple,
                          kernels().grid.measure(values_.data(), values_.size(), multiple, half_)};
    if (best_.multiple != 0 && found.quality() <= best_.quality()) return false;
    best_ = found;
    return true;
  }

  void sweep(float first) {
    int without = 0;
    float multiple = first;
    for (int i = 0; i < kMaxMultiples && without < kMaxMultiplesWithoutGain;
         ++i, multiple *= kMultipleGrowth) {
      without = try_multiple(multiple) ? 0 : without + 1;
    }
  }

  /// Tries multiples between those of the sweep, then Lloyd's iteration.
  void refine() {
    const float middle = best_.multiple;
    for (float factor : {0.91f, 0.955f, 1.047f, 1.096f}) try_multiple(middle * factor);
    for (int i = 0; i < kLloydSteps; ++i) {
      if (!try_multiple(best_.multiple * (best_.sums.squares / best_.sums.dot))) return;
    }
  }

  [[nodiscard]] const GridPoint& best() const { return best_; }

 private:
  std::span<const float> values_;
  float half_;
  GridPoint best_;
};

}  // namespace

float RabitqFactors::scale() const {
  return dot > 0 ? static_cast<float>(norm_squared / dot) : 0.0f;
}

double RabitqFactors::cosine() const {
  return dot > 0 ? std::min(1.0, dot / std::sqrt(norm_squared * code_norm_squared)) : 1.0;
}

float RabitqFactors::deviation(std::uint32_t dim) const {
  const double tangent_squared = 1.0 / (cosine() * cosine()) - 1.0;
  return static_cast<float>(std::sqrt(norm_squared * tangent_squared / std::max(1u, dim - 1)));
}

RabitqFactors rabitq_encode(std::span<const float> r, std::uint32_t bits, std::uint8_t* codes) {
  assert(bits >= 1 && bits <= 8);
  const KernelTable& k = kernels();
  const float half = static_cast<float>(1u << (bits - 1));
  const float largest = k.grid.largest(r.data(), r.size());
  const double norm = k.convert.norm(r.data(), r.size());
  if (largest < kLeastLargestValue) {
    k.grid.encode(r.data(), r.size(), 1.0f, half, codes);
    return {};
  }
  MultipleSearch search(r, half);
  if (bits == 1) {
    search.try_multiple(1.0f / largest);
  } else {
    search.sweep(kFirstShareOfGrid * half / largest);
    search.refine();
  }
  const GridPoint& best = search.best();
  k.grid.encode(r.data(), r.size(), best.multiple, half, codes);
  return {norm * norm, double{best.sums.dot} / double{best.multiple}, double{best.sums.squares}};
}

}  // namespace quiver::encoders

#include "engine/query/fusion.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace quiver::engine {
namespace {

class Sums {
 public:
  void add(const PointId& id, float score) { sums_[id] += score; }
  [[nodiscard]] std::vector<Ranked> best_first() const {
    std::vector<Ranked> fused;
    fused.reserve(sums_.size());
    for (const auto& [id, score] : sums_) fused.push_back({id, score});
    std::sort(fused.begin(), fused.end(), [](const Ranked& a, const Ranked& b) {
      return a.score != b.score ? a.score > b.score : a.id < b.id;
    });
    return fused;
  }

 private:
  std::unordered_map<PointId, float> sums_;
};

struct Spread {
  double low = 0;
  double width = 0;
};

Spread spread_of(const std::vector<Ranked>& list) {
  const auto n = static_cast<double>(list.size());
  double mean = 0;
  for (const auto& hit : list) mean += hit.score / n;
  double squares = 0;
  for (const auto& hit : list) squares += (hit.score - mean) * (hit.score - mean);
  const double deviation = list.size() < 2 ? 0 : std::sqrt(squares / (n - 1));
  return {mean - 3 * deviation, 6 * deviation};
}

}  // namespace

std::vector<Ranked> fuse_rrf(std::span<const std::vector<Ranked>> lists, const Rrf& rrf) {
  Sums sums;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const double weight = rrf.weights.empty() ? 1.0 : rrf.weights[i];
    for (std::size_t rank = 0; rank < lists[i].size(); ++rank) {
      const double place = static_cast<double>(rank + 1) / weight + static_cast<double>(rrf.k) - 1;
      sums.add(lists[i][rank].id, weight > 0 ? static_cast<float>(1.0 / place) : 0.0F);
    }
  }
  return sums.best_first();
}

std::vector<Ranked> fuse_dbsf(std::span<const std::vector<Ranked>> lists) {
  Sums sums;
  for (const auto& list : lists) {
    const Spread spread = spread_of(list);
    for (const auto& hit : list) {
      const double score = spread.width == 0 ? 0.5 : (hit.score - spread.low) / spread.width;
      sums.add(hit.id, static_cast<float>(score));
    }
  }
  return sums.best_first();
}

}  // namespace quiver::engine

#include "bench/advise/choice.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace quiver::bench::advise {
namespace {

constexpr double kEqualBytes = 1.01;
constexpr double kEqualRecall = 0.001;
/// Rates of repeated measurements differ by about this much.
constexpr double kEqualRate = 0.9;

using Positions = std::vector<std::size_t>;

/// Keeps the positions whose value is at most `limit`.
template <class Value>
void keep_at_most(Positions& positions, double limit, Value&& value) {
  std::erase_if(positions, [&](std::size_t i) { return value(i) > limit; });
}

/// The best of `positions`, which is not empty and whose points all meet the limits.
std::size_t best_of(Positions positions, std::span<const Point> points, const Limits& limits) {
  const auto loss = [&](std::size_t i) { return 1 - points[i].recall; };
  const auto bytes = [&](std::size_t i) { return points[i].bytes; };
  const auto qps = [&](std::size_t i) { return points[i].qps; };
  if (!limits.recall) {
    keep_at_most(positions, loss(*std::ranges::min_element(positions, {}, loss)) + kEqualRecall,
                 loss);
  }
  keep_at_most(positions, bytes(*std::ranges::min_element(positions, {}, bytes)) * kEqualBytes,
               bytes);
  return *std::ranges::max_element(positions, {}, qps);
}

/// Among points of equal shortfall, the smaller one is nearer.
bool is_nearer(const Point& a, const Point& b, const Limits& limits) {
  const double of_a = shortfall(a, limits), of_b = shortfall(b, limits);
  return of_a != of_b ? of_a < of_b : a.bytes < b.bytes;
}

}  // namespace

bool meets(const Point& point, const Limits& limits) { return shortfall(point, limits) == 0; }

double shortfall(const Point& point, const Limits& limits) {
  const auto share = [](double missing, double limit) { return std::max(0.0, missing) / limit; };
  double sum = 0;
  if (limits.recall) sum += share(*limits.recall - point.recall, *limits.recall);
  if (limits.bytes) sum += share(point.bytes - *limits.bytes, *limits.bytes);
  if (limits.qps > 0) sum += share(limits.qps - point.qps, limits.qps);
  return sum;
}

std::optional<std::size_t> choose(std::span<const Point> points, const Limits& limits) {
  if (points.empty()) return std::nullopt;
  std::size_t nearest = 0;
  Positions good;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (meets(points[i], limits)) good.push_back(i);
    if (is_nearer(points[i], points[nearest], limits)) nearest = i;
  }
  return good.empty() ? nearest : best_of(std::move(good), points, limits);
}

std::vector<std::size_t> pareto_front(std::span<const Point> points, double recall_slack) {
  Positions order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (points[a].bytes != points[b].bytes) return points[a].bytes < points[b].bytes;
    return points[a].recall > points[b].recall;
  });
  Positions front;
  for (const std::size_t i : order) {
    const bool replaced = std::any_of(front.begin(), front.end(), [&](std::size_t smaller) {
      return points[smaller].recall >= points[i].recall - recall_slack &&
             points[smaller].qps >= points[i].qps * kEqualRate;
    });
    if (!replaced) front.push_back(i);
  }
  return front;
}

std::vector<std::size_t> rank_ways(std::span<const Point> points, const Limits& limits) {
  std::vector<Point> left(points.begin(), points.end());
  std::vector<std::size_t> ranked;
  while (const auto best = choose(left, limits)) {
    const std::size_t way = left[*best].way;
    ranked.push_back(way);
    std::erase_if(left, [&](const Point& point) { return point.way == way; });
  }
  return ranked;
}

}  // namespace quiver::bench::advise

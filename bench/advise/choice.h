// Which of many measured points suits a user's limits: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace quiver::bench::advise {

/// One way to keep and index vectors, searched with one effort.
struct Point {
  std::size_t way = 0;     ///< number of the way
  std::size_t effort = 0;  ///< number of the search parameters, among those of the way
  double bytes = 0;        ///< of a vector: row and index
  double recall = 0;       ///< 0 to 1
  double qps = 0;          ///< searches a second, one thread
};

/// What a user wants. With `recall`, the goal is the fewest bytes; without, the best recall.
struct Limits {
  std::optional<double> recall = std::nullopt;  ///< at least, in (0, 1]
  std::optional<double> bytes = std::nullopt;   ///< at most, of a vector
  double qps = 0;                               ///< at least
};

[[nodiscard]] bool meets(const Point& point, const Limits& limits);

/// The sum of the shares by which limits are missed; 0 if all are met.
[[nodiscard]] double shortfall(const Point& point, const Limits& limits);

/// Position of the best point that meets the limits: the one with the fewest bytes, or with the
/// best recall if that is the goal. Bytes within 1 % are equal, recall within .001; then the
/// fastest wins. If none meets the limits, the point of the least shortfall. nullopt if there are
/// no points.
[[nodiscard]] std::optional<std::size_t> choose(std::span<const Point> points,
                                                const Limits& limits);

/// Positions of the points that no smaller one replaces, by ascending bytes. A smaller one does if
/// its recall is at most `recall_slack` worse and it takes at most 1 / .9 of the time.
[[nodiscard]] std::vector<std::size_t> pareto_front(std::span<const Point> points,
                                                    double recall_slack);

/// Numbers of the ways, those first that `choose` prefers.
[[nodiscard]] std::vector<std::size_t> rank_ways(std::span<const Point> points,
                                                 const Limits& limits);

}  // namespace quiver::bench::advise

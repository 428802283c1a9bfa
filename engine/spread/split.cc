#include "engine/spread/split.h"

#include <utility>
#include <variant>

namespace quiver::engine {
namespace {

/// `operation` without what it changes.
template <class Kind>
std::vector<Kind> without_points(const Kind& operation, std::uint32_t n_parts) {
  Kind rest = operation;
  if constexpr (requires { rest.points.index(); }) {
    rest.points = std::vector<PointId>();
  } else {
    rest.points.clear();
  }
  return std::vector<Kind>(n_parts, rest);
}

template <class Kind>
class Splitter {
 public:
  Splitter(Kind operation, std::uint32_t n_parts)
      : operation_(std::move(operation)), n_parts_(n_parts) {}

  /// One for each part; those that have nothing to do change no points.
  std::vector<Kind> run() {
    if constexpr (requires { operation_.points.index(); }) {
      if (std::holds_alternative<payload::Filter>(operation_.points)) {
        return std::vector<Kind>(n_parts_, operation_);
      }
      return split(std::get<std::vector<PointId>>(std::exchange(operation_.points, {})));
    } else {
      return split(std::exchange(operation_.points, {}));
    }
  }

 private:
  static const PointId& id_of(const PointId& id) { return id; }
  static const PointId& id_of(const PointInput& point) { return point.id; }

  template <class Point>
  static std::vector<Point>& points_of(Kind& part) {
    if constexpr (requires { part.points.index(); }) {
      return std::get<std::vector<PointId>>(part.points);
    } else {
      return part.points;
    }
  }

  template <class Point>
  std::vector<Kind> split(std::vector<Point> points) {
    auto parts = without_points(operation_, n_parts_);
    for (auto& point : points) {
      const std::uint32_t part = shard_of(id_of(point), n_parts_);
      points_of<Point>(parts[part]).push_back(std::move(point));
    }
    return parts;
  }

  Kind operation_;
  const std::uint32_t n_parts_;
};

template <class Kind>
bool changes_points(const Kind& operation) {
  if constexpr (requires { operation.points.index(); }) {
    const auto* ids = std::get_if<std::vector<PointId>>(&operation.points);
    return ids == nullptr || !ids->empty();
  } else {
    return !operation.points.empty();
  }
}

}  // namespace

std::vector<PartOperations> split_by_part(std::vector<Operation> operations,
                                          std::uint32_t n_parts) {
  std::vector<PartOperations> parts(n_parts);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto add = [&](auto& operation) {
      auto pieces = Splitter(std::move(operation), n_parts).run();
      for (std::uint32_t part = 0; part < n_parts; ++part) {
        if (!changes_points(pieces[part])) continue;
        parts[part].numbers.push_back(i);
        parts[part].operations.emplace_back(std::move(pieces[part]));
      }
    };
    std::visit(add, operations[i]);
  }
  return parts;
}

}  // namespace quiver::engine

// From a method and a path to a handler.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "service/http/exchange.h"

namespace quiver::service {

/// Writes the answer, or arranges for it to come later, or fails (the error becomes the answer).
using Handler = Decoded<Answer> (*)(Exchange&);

enum class Access : std::uint8_t {
  kOpen,   ///< without a key
  kRead,   ///< any key
  kWrite,  ///< the key that may change things
};

struct RouteDeclaration {
  Method method;
  std::string_view pattern;  ///< "/collections/{name}/points"; segments in braces are captured
  Access access;
  Handler handler;
};

/// A declaration with its pattern split and its metrics looked up.
class Route {
 public:
  Route(const RouteDeclaration& declaration, MetricsRegistry& metrics, std::string_view prefix);

  [[nodiscard]] bool matches(const Target& target) const;
  /// Decodes the captured segments. False if one is not valid percent-encoded UTF-8.
  [[nodiscard]] bool capture(const Target& target,
                             std::array<std::string, Exchange::kMaxCaptures>& out) const;
  [[nodiscard]] const RouteDeclaration& declaration() const { return declaration_; }
  /// One answer more. Any thread.
  void count(int status, double seconds) const;

 private:
  [[nodiscard]] static bool is_capture(std::string_view segment) {
    return segment.starts_with('{');
  }
  [[nodiscard]] Counter& counter(int status) const;

  static constexpr int kFirstStatus = 200;
  static constexpr int kLastStatus = 511;

  RouteDeclaration declaration_;
  std::array<std::string_view, Target::kMaxSegments> segments_;
  std::size_t n_segments_ = 0;
  MetricsRegistry& metrics_;
  std::string counter_name_;
  Histogram& duration_;
  /// Filled at the first answer with a status; the registry hands out one counter per name.
  mutable std::array<std::atomic<Counter*>, kLastStatus - kFirstStatus + 1> counters_{};
};

/// All routes, grouped by their number of segments. Immutable; any thread.
class Router {
 public:
  Router(const std::vector<RouteDeclaration>& declarations, MetricsRegistry& metrics,
         std::string_view metrics_prefix);

  struct Match {
    const Route* route = nullptr;
    /// If there is no route: the methods that the path has, "" if there is no such path.
    std::string_view allowed;
  };
  /// HEAD finds the route of GET.
  [[nodiscard]] Match find(Method method, const Target& target) const;

 private:
  std::array<std::vector<std::unique_ptr<Route>>, Target::kMaxSegments + 1> by_length_;
};

}  // namespace quiver::service

// From a method and a path to a handler.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/observe/metrics.h"
#include "service/api/access.h"
#include "service/api/answer_times.h"
#include "service/api/effect.h"
#include "service/http/exchange/exchange.h"

namespace quiver::service {

using api::Access;
using api::Effect;
using api::WhenOverloaded;

/// Writes the answer, or arranges for it to come later, or fails (the error becomes the answer).
using Handler = Decoded<Answer> (*)(Exchange&);
/// Makes the sink for the body of a request, of which only the headers are known. An error becomes
/// the answer, without the body being read.
using SinkMaker = Decoded<std::unique_ptr<BodySink>> (*)(Exchange&);

struct RouteDeclaration {
  Method method;
  /// "/collections/{collection_name}/points"; segments in braces are captured.
  std::string_view pattern;
  Access access;
  Handler handler;
  Effect effect = Effect::kLocal;
  SinkMaker make_sink = nullptr;  ///< null: the body is kept in memory until the handler runs
  WhenOverloaded when_overloaded = WhenOverloaded::kRefused;
};

/// An endpoint of the API that Quiver imitates but does not have, for every method.
struct UnbuiltEndpoint {
  std::string_view pattern;  ///< as in RouteDeclaration
  std::string_view feature;  ///< for the error text: "snapshots"
};

/// A path in which a segment in braces matches any segment.
class PathPattern {
 public:
  explicit PathPattern(std::string_view text);

  /// `target` has as many segments.
  [[nodiscard]] bool matches(const Target& target) const;
  /// Decodes the captured segments. False if one is not valid percent-encoded UTF-8.
  [[nodiscard]] bool capture(const Target& target,
                             std::array<std::string, Exchange::kMaxCaptures>& out) const;
  [[nodiscard]] std::size_t n_segments() const { return n_segments_; }
  [[nodiscard]] bool ends_with_capture() const {
    return n_segments_ > 0 && is_capture(segments_[n_segments_ - 1]);
  }

 private:
  [[nodiscard]] static bool is_capture(std::string_view segment) {
    return segment.starts_with('{');
  }

  std::array<std::string_view, Target::kMaxSegments> segments_;
  std::size_t n_segments_ = 0;
};

/// A declaration with its split pattern and its metrics.
class Route {
 public:
  Route(const RouteDeclaration& declaration, MetricsRegistry& metrics, std::string_view prefix);

  [[nodiscard]] const RouteDeclaration& declaration() const { return declaration_; }
  [[nodiscard]] const PathPattern& pattern() const { return pattern_; }
  /// "POST /collections/{collection_name}/points".
  [[nodiscard]] std::string_view name() const { return name_; }
  /// True if the path names a collection first.
  [[nodiscard]] bool is_of_collection() const { return is_of_collection_; }
  /// Counts one answer. Any thread.
  void count(int status, double seconds) const;
  /// By status, ascending; only statuses that were answered.
  [[nodiscard]] std::vector<std::pair<int, AnswerTimes::Summary>> answers() const;

 private:
  [[nodiscard]] AnswerTimes& times(int status) const QV_EXCLUDES(mutex_);

  static constexpr int kFirstStatus = 200;
  static constexpr int kLastStatus = 511;

  RouteDeclaration declaration_;
  PathPattern pattern_;
  MetricsRegistry& metrics_;
  std::string name_;
  bool is_of_collection_;
  std::string counter_name_;
  Histogram& duration_;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<AnswerTimes>> owned_times_ QV_GUARDED_BY(mutex_);
  /// Each is set at the first answer with its status.
  mutable std::array<std::atomic<AnswerTimes*>, kLastStatus - kFirstStatus + 1> times_{};
};

/// All routes, grouped by their number of segments. Immutable; any thread.
class Router {
 public:
  Router(const std::vector<RouteDeclaration>& declarations,
         std::span<const UnbuiltEndpoint> unbuilt, MetricsRegistry& metrics,
         std::string_view metrics_prefix);

  struct Match {
    const Route* route = nullptr;
    /// Without a route: the methods that the path has; "" if there is no such path.
    std::string_view allowed;
    /// The feature that an unbuilt endpoint belongs to; otherwise "".
    std::string_view unbuilt;
  };
  /// HEAD finds the route of GET. An unbuilt path without captures goes before a route that ends in
  /// a capture.
  [[nodiscard]] Match find(Method method, const Target& target) const;
  [[nodiscard]] std::vector<const Route*> routes() const;
  /// True if some route has a sink.
  [[nodiscard]] bool has_sinks() const { return has_sinks_; }

 private:
  struct Unbuilt {
    PathPattern pattern;
    std::string_view feature;
  };
  /// "" if no unbuilt endpoint matches.
  [[nodiscard]] std::string_view unbuilt_feature(const Target& target) const;

  std::array<std::vector<std::unique_ptr<Route>>, Target::kMaxSegments + 1> by_length_;
  std::array<std::vector<Unbuilt>, Target::kMaxSegments + 1> unbuilt_by_length_;
  bool has_sinks_ = false;
};

}  // namespace quiver::service

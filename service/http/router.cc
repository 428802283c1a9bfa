#include "service/http/router.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/utf8.h"

namespace quiver::service {
namespace {

constexpr std::string_view kDurationHelp = "Time from a parsed request to its answer";
constexpr std::string_view kCountHelp = "Answers by method, endpoint and status";

Labels route_labels(const RouteDeclaration& declaration) {
  return {{"method", std::string(to_string(declaration.method))},
          {"endpoint", std::string(declaration.pattern)}};
}

/// One static text per set of methods, so that a Match needs no storage.
std::string_view allow_text(unsigned methods) {
  constexpr std::array kOrder = {Method::kGet, Method::kPost, Method::kPut, Method::kPatch,
                                 Method::kDelete};
  static const std::array<std::string, 32> kTexts = [&] {
    std::array<std::string, 32> texts;
    for (unsigned set = 1; set < texts.size(); ++set) {
      for (std::size_t i = 0; i < kOrder.size(); ++i) {
        if ((set >> i & 1) == 0) continue;
        texts[set] += texts[set].empty() ? "" : ", ";
        texts[set] += to_string(kOrder[i]);
        if (kOrder[i] == Method::kGet) texts[set] += ", HEAD";
      }
    }
    return texts;
  }();
  return kTexts[methods];
}

unsigned method_bit(Method method) { return 1U << static_cast<unsigned>(method); }

}  // namespace

PathPattern::PathPattern(std::string_view text) {
  const auto target = split_target(text);
  QV_CHECK(target && !target->too_long);
  segments_ = target->segments;
  n_segments_ = target->n_segments;
}

bool PathPattern::matches(const Target& target) const {
  for (std::size_t i = 0; i < n_segments_; ++i) {
    if (is_capture(segments_[i]) ? target.segments[i].empty()
                                 : segments_[i] != target.segments[i]) {
      return false;
    }
  }
  return true;
}

bool PathPattern::capture(const Target& target,
                          std::array<std::string, Exchange::kMaxCaptures>& out) const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < n_segments_; ++i) {
    if (!is_capture(segments_[i])) continue;
    const std::string_view segment = target.segments[i];
    if (segment.find('%') == std::string_view::npos) {
      if (!is_utf8(segment)) return false;
      out[n++].assign(segment);
      continue;
    }
    auto decoded = percent_decode(segment);
    if (!decoded) return false;
    out[n++] = *std::move(decoded);
  }
  return true;
}

Route::Route(const RouteDeclaration& declaration, MetricsRegistry& metrics, std::string_view prefix)
    : declaration_(declaration),
      pattern_(declaration.pattern),
      metrics_(metrics),
      name_(fmt::format("{} {}", to_string(declaration.method), declaration.pattern)),
      is_of_collection_(declaration.pattern.find("/collections/{collection_name}") !=
                        std::string_view::npos),
      counter_name_(fmt::format("{}rest_responses_total", prefix)),
      duration_(metrics.histogram(fmt::format("{}rest_responses_duration_seconds", prefix),
                                  kDurationHelp, route_labels(declaration))) {}

void Route::count(int status, double seconds) const {
  duration_.observe(seconds);
  if (status >= kFirstStatus && status <= kLastStatus) times(status).add(seconds);
}

std::vector<std::pair<int, AnswerTimes::Summary>> Route::answers() const {
  std::vector<std::pair<int, AnswerTimes::Summary>> answers;
  for (int status = kFirstStatus; status <= kLastStatus; ++status) {
    const auto& slot = times_[static_cast<std::size_t>(status - kFirstStatus)];
    const AnswerTimes* times = slot.load(std::memory_order_acquire);
    if (times == nullptr) continue;
    const auto summary = times->summary();
    if (summary.n > 0) answers.emplace_back(status, summary);
  }
  return answers;
}

AnswerTimes& Route::times(int status) const {
  auto& slot = times_[static_cast<std::size_t>(status - kFirstStatus)];
  if (AnswerTimes* known = slot.load(std::memory_order_acquire)) return *known;
  Labels labels = route_labels(declaration_);
  labels.emplace_back("status", std::to_string(status));
  Counter& counter = metrics_.counter(counter_name_, kCountHelp, labels);
  MutexLock lock(mutex_);
  if (AnswerTimes* known = slot.load(std::memory_order_acquire)) return *known;
  AnswerTimes& created = *owned_times_.emplace_back(std::make_unique<AnswerTimes>(counter));
  slot.store(&created, std::memory_order_release);
  return created;
}

Router::Router(const std::vector<RouteDeclaration>& declarations,
               std::span<const UnbuiltEndpoint> unbuilt, MetricsRegistry& metrics,
               std::string_view metrics_prefix) {
  for (const auto& declaration : declarations) {
    has_sinks_ = has_sinks_ || declaration.make_sink != nullptr;
    auto route = std::make_unique<Route>(declaration, metrics, metrics_prefix);
    by_length_[route->pattern().n_segments()].push_back(std::move(route));
  }
  for (const auto& endpoint : unbuilt) {
    const PathPattern pattern(endpoint.pattern);
    unbuilt_by_length_[pattern.n_segments()].push_back({pattern, endpoint.feature});
  }
}

Router::Match Router::find(Method method, const Target& target) const {
  if (target.too_long) return {};
  if (method == Method::kHead) method = Method::kGet;
  unsigned allowed = 0;
  for (const auto& route : by_length_[target.n_segments]) {
    if (!route->pattern().matches(target)) continue;
    if (route->declaration().method != method) {
      allowed |= method_bit(route->declaration().method);
      continue;
    }
    if (!route->pattern().ends_with_capture()) return {route.get(), {}, {}};
    const auto feature = unbuilt_feature(target);
    return feature.empty() ? Match{route.get(), {}, {}} : Match{nullptr, {}, feature};
  }
  return {nullptr, allow_text(allowed), unbuilt_feature(target)};
}

std::vector<const Route*> Router::routes() const {
  std::vector<const Route*> routes;
  for (const auto& some : by_length_) {
    for (const auto& route : some) routes.push_back(route.get());
  }
  return routes;
}

std::string_view Router::unbuilt_feature(const Target& target) const {
  for (const auto& endpoint : unbuilt_by_length_[target.n_segments]) {
    if (endpoint.pattern.matches(target)) return endpoint.feature;
  }
  return {};
}

}  // namespace quiver::service

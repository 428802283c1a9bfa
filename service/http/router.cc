#include "service/http/router.h"

#include <fmt/format.h>

#include "base/check.h"

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

Route::Route(const RouteDeclaration& declaration, MetricsRegistry& metrics, std::string_view prefix)
    : declaration_(declaration),
      metrics_(metrics),
      counter_name_(fmt::format("{}rest_responses_total", prefix)),
      duration_(metrics.histogram(fmt::format("{}rest_responses_duration_seconds", prefix),
                                  kDurationHelp, route_labels(declaration))) {
  const auto target = split_target(declaration.pattern);
  QV_CHECK(target && !target->too_long);
  segments_ = target->segments;
  n_segments_ = target->n_segments;
}

bool Route::matches(const Target& target) const {
  for (std::size_t i = 0; i < n_segments_; ++i) {
    if (is_capture(segments_[i]) ? target.segments[i].empty()
                                 : segments_[i] != target.segments[i]) {
      return false;
    }
  }
  return true;
}

bool Route::capture(const Target& target,
                    std::array<std::string, Exchange::kMaxCaptures>& out) const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < n_segments_; ++i) {
    if (!is_capture(segments_[i])) continue;
    const std::string_view segment = target.segments[i];
    if (segment.find('%') == std::string_view::npos) {
      out[n++].assign(segment);
      continue;
    }
    auto decoded = percent_decode(segment);
    if (!decoded) return false;
    out[n++] = *std::move(decoded);
  }
  return true;
}

void Route::count(int status, double seconds) const {
  duration_.observe(seconds);
  if (status >= kFirstStatus && status <= kLastStatus) counter(status).add();
}

Counter& Route::counter(int status) const {
  auto& slot = counters_[static_cast<std::size_t>(status - kFirstStatus)];
  if (Counter* known = slot.load(std::memory_order_acquire)) return *known;
  Labels labels = route_labels(declaration_);
  labels.emplace_back("status", std::to_string(status));
  Counter& created = metrics_.counter(counter_name_, kCountHelp, labels);
  slot.store(&created, std::memory_order_release);
  return created;
}

Router::Router(const std::vector<RouteDeclaration>& declarations, MetricsRegistry& metrics,
               std::string_view metrics_prefix) {
  for (const auto& declaration : declarations) {
    const auto target = split_target(declaration.pattern);
    QV_CHECK(target && !target->too_long);
    by_length_[target->n_segments].push_back(
        std::make_unique<Route>(declaration, metrics, metrics_prefix));
  }
}

Router::Match Router::find(Method method, const Target& target) const {
  if (target.too_long) return {};
  if (method == Method::kHead) method = Method::kGet;
  unsigned allowed = 0;
  for (const auto& route : by_length_[target.n_segments]) {
    if (!route->matches(target)) continue;
    if (route->declaration().method == method) return {route.get(), {}};
    allowed |= method_bit(route->declaration().method);
  }
  return {nullptr, allow_text(allowed)};
}

}  // namespace quiver::service

// The server itself: version, health, metrics, and its cluster.
#include <algorithm>

#include "base/clock.h"
#include "base/observe/metrics.h"
#include "service/api/cluster_info.h"
#include "service/api/server_info.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/encode/encode_cluster.h"

namespace quiver::service {
namespace {

Decoded<Answer> version(Exchange& x) {
  const api::Identity& identity = x.runtime().options().identity;
  x.response.body.clear();
  json::Writer out(x.response.body);
  out.begin_object();
  out.member("title", std::string_view(identity.title));
  out.member("version", std::string_view(identity.version));
  if (!identity.commit.empty()) out.member("commit", std::string_view(identity.commit));
  out.end_object();
  return Answer::kReady;
}

Decoded<Answer> healthy(Exchange& x) {
  x.text(200, "healthz check passed");
  return Answer::kReady;
}

/// The text without the metrics whose names begin with `name`.
std::string without_metrics(std::string_view text, std::string_view name) {
  std::string kept;
  while (!text.empty()) {
    const auto line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    auto named = line;
    for (const std::string_view comment : {"# HELP ", "# TYPE "}) {
      if (named.starts_with(comment)) named.remove_prefix(comment.size());
    }
    if (!named.starts_with(name)) kept += line;
  }
  return kept;
}

Decoded<> write_readiness(Exchange& x, const api::Readiness& readiness) {
  if (readiness.is_ready) {
    x.text(200, "all shards are ready");
  } else {
    x.text(503, readiness.reason.empty() ? "some shards are not ready"
                                         : "some shards are not ready: " + readiness.reason);
  }
  return {};
}

Decoded<Answer> ready(Exchange& x) {
  api::readiness(x, answer_by<api::Readiness>(x, write_readiness));
  return Answer::kLater;
}

/// Answers are counted by collection, or for all collections together: never both, since a sum
/// over the lines would count twice.
std::string with_answers_by_collection(const std::string& text, const std::string& prefix,
                                       Front& front) {
  const std::string total = prefix + "rest_responses_total";
  const std::string average = prefix + "rest_responses_avg_duration_seconds";
  MetricsText metrics;
  for (const auto& [collection, routes] : answers_by_collection(front)) {
    for (const auto& [route, statuses] : routes) {
      const auto space = route.find(' ');
      for (const auto& [status, summary] : statuses) {
        const Labels labels = {{"method", std::string(route.substr(0, space))},
                               {"endpoint", std::string(route.substr(space + 1))},
                               {"status", std::to_string(status)},
                               {"collection", collection}};
        constexpr double kMicrosPerSecond = 1e6;
        const auto n = static_cast<double>(summary.n);
        metrics.sample(total, "Answers by method, endpoint, status and collection",
                       MetricType::kCounter, labels, n);
        metrics.sample(average, "Mean time from a parsed request to its answer", MetricType::kGauge,
                       labels, summary.total_us / kMicrosPerSecond / n);
      }
    }
  }
  return without_metrics(text, prefix + "rest_responses_") + metrics.finish();
}

Decoded<> write_metrics(Exchange& x, const std::string& text) {
  QV_TRY(const bool by_collection, bool_parameter(x, "per_collection", false));
  const std::string& prefix = x.runtime().options().metrics_prefix;
  x.text(200, by_collection ? with_answers_by_collection(text, prefix, x.front()) : text);
  x.response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return {};
}

Decoded<Answer> answer_metrics(Exchange& x) {
  QV_TRY(bool_parameter(x, "per_collection", false));
  QV_TRY(bool_parameter(x, "anonymize", false));
  api::metrics(x, answer_by<std::string>(x, write_metrics));
  return Answer::kLater;
}

Decoded<Answer> cluster(Exchange& x) {
  constexpr double kMillisPerSecond = 1e3;
  QV_TRY(const auto view, api::cluster_view(x));
  if (!view) {
    x.result_raw(R"({"status":"disabled"})");
    return Answer::kReady;
  }
  QV_TRY(const auto placements, api::placements(x));
  auto out = x.begin_result();
  json::write_cluster(out, *view, placements,
                      static_cast<double>(unix_time_ms()) / kMillisPerSecond);
  x.end_result();
  return Answer::kReady;
}

Decoded<Answer> no_issues(Exchange& x) {
  x.result_raw(R"({"issues":[]})");
  return Answer::kReady;
}

Decoded<Answer> clear_issues(Exchange& x) {
  x.result_raw("true");
  return Answer::kReady;
}

}  // namespace

void add_service_routes(Routes& routes) {
  const auto add = [&](Method method, std::string_view pattern, Access access, Handler handler) {
    routes.push_back({method, pattern, access, handler});
  };
  add(Method::kGet, "/", Access::kOpen, version);
  add(Method::kGet, "/healthz", Access::kOpen, healthy);
  add(Method::kGet, "/livez", Access::kOpen, healthy);
  add(Method::kGet, "/readyz", Access::kOpen, ready);
  add(Method::kGet, "/metrics", Access::kGlobalRead, answer_metrics);
  add(Method::kGet, "/cluster", Access::kGlobalRead, cluster);
  add(Method::kGet, "/issues", Access::kAny, no_issues);
  add(Method::kDelete, "/issues", Access::kManage, clear_issues);
}

}  // namespace quiver::service

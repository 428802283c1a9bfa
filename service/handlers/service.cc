// The server itself: version, health, metrics, and the answers of a server without a cluster.
#include "service/api/server_info.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"

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

Decoded<> write_metrics(Exchange& x, const std::string& text) {
  x.text(200, text);
  x.response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return {};
}

Decoded<Answer> answer_metrics(Exchange& x) {
  api::metrics(x, answer_by<std::string>(x, write_metrics));
  return Answer::kLater;
}

Decoded<Answer> cluster(Exchange& x) {
  x.result_raw(R"({"status":"disabled"})");
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

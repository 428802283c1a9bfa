// The server itself: version, health, metrics, and answers of one that stands alone.
#include "base/observe/metrics.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"

namespace quiver::service {
namespace {

Decoded<Answer> version(Exchange& x) {
  const Identity& identity = x.service().options().identity;
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

Decoded<Answer> ready(Exchange& x) {
  return x.run_on(x.service().telling(), [](Exchange& exchange) -> Decoded<Answer> {
    std::string why;
    if (exchange.service().database().ready(&why)) {
      exchange.text(200, "all shards are ready");
    } else {
      exchange.text(
          503, why.empty() ? "some shards are not ready" : "some shards are not ready: " + why);
    }
    return Answer::kReady;
  });
}

Decoded<Answer> metrics(Exchange& x) {
  return x.run_on(x.service().telling(), [](Exchange& exchange) -> Decoded<Answer> {
    exchange.text(200, exchange.service().metrics().render());
    exchange.response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    return Answer::kReady;
  });
}

Decoded<Answer> cluster(Exchange& x) {
  x.result_raw(R"({"status":"disabled"})");
  return Answer::kReady;
}

Decoded<Answer> no_issues(Exchange& x) {
  x.result_raw(R"({"issues":[]})");
  return Answer::kReady;
}

Decoded<Answer> clear_issues(Exchange& x) { return answer_bool(x, true); }

}  // namespace

void add_service_routes(Routes& routes) {
  const auto add = [&](Method method, std::string_view pattern, Access access, Handler handler) {
    routes.push_back({method, pattern, access, handler});
  };
  add(Method::kGet, "/", Access::kOpen, version);
  add(Method::kGet, "/healthz", Access::kOpen, healthy);
  add(Method::kGet, "/livez", Access::kOpen, healthy);
  add(Method::kGet, "/readyz", Access::kOpen, ready);
  add(Method::kGet, "/metrics", Access::kRead, metrics);
  add(Method::kGet, "/cluster", Access::kRead, cluster);
  add(Method::kGet, "/issues", Access::kRead, no_issues);
  add(Method::kDelete, "/issues", Access::kWrite, clear_issues);
}

}  // namespace quiver::service

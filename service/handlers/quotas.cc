// Quotas of the whole server.
#include "service/api/quotas.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"

namespace quiver::service {
namespace {

void write_percent(json::Writer& out, std::string_view name, std::optional<std::uint64_t> percent) {
  out.key(name);
  percent ? out.u64(*percent) : out.null();
}

Decoded<> write_quotas(Exchange& x, const api::QuotaStatus& status) {
  auto out = x.begin_result();
  out.begin_object();
  out.key("config");
  out.raw(to_json(status.config));
  out.key("usage");
  out.begin_object();
  write_percent(out, "resident_memory_percent", status.usage.resident_memory_percent);
  write_percent(out, "disk_usage_percent", status.usage.disk_usage_percent);
  out.end_object();
  out.end_object();
  x.end_result();
  return {};
}

Decoded<Answer> get_quotas(Exchange& x) {
  api::quotas(x, answer_by<api::QuotaStatus>(x, write_quotas));
  return Answer::kLater;
}

Decoded<Answer> put_quotas(Exchange& x) {
  QV_TRY(bool_parameter(x, "wait", false));
  auto config = api::strict::parse_quota(x.request.body);
  if (!config) {
    return fail(ApiError(422, "Validation error in JSON body: [" + config.error().message() + "]"));
  }
  api::set_quotas(x, *config, answer_true(x));
  return Answer::kLater;
}

}  // namespace

void add_quota_routes(Routes& routes) {
  routes.push_back({Method::kGet, "/quotas", Access::kGlobalRead, get_quotas});
  routes.push_back({Method::kPut, "/quotas", Access::kManage, put_quotas});
}

}  // namespace quiver::service

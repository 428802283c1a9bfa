// Who asked for what: entries of the audit log.
#include "service/api/audit.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"

namespace quiver::service {
namespace {

using access::AuditEntry;

Decoded<> write_entries(Exchange& x, const std::vector<AuditEntry>& entries) {
  auto out = x.begin_result();
  out.begin_object();
  out.key("entries");
  out.begin_array();
  for (const auto& entry : entries) {
    out.begin_object();
    for (const auto& [name, value] : entry) {
      if (name == "status") {
        out.key(name);
        out.raw(value);  // a number
      } else {
        out.member(name, std::string_view(value));
      }
    }
    out.end_object();
  }
  out.end_array();
  out.end_object();
  x.end_result();
  return {};
}

Decoded<Answer> audit_logs(Exchange& x) {
  QV_TRY(timeout_parameter(x));
  QV_TRY(auto query, json::decode_audit_query(x.request.body));
  api::audit_entries(x, std::move(query), answer_by<std::vector<AuditEntry>>(x, write_entries));
  return Answer::kLater;
}

}  // namespace

void add_audit_routes(Routes& routes) {
  routes.push_back({Method::kPost, "/audit/logs", Access::kManage, audit_logs});
}

}  // namespace quiver::service

#include "service/api/audit.h"

#include <utility>

#include "service/api/answer.h"

namespace quiver::service::api {

void audit_entries(Call& call, access::AuditQuery query,
                   Done<std::vector<access::AuditEntry>> done) {
  auto read = [&call, query = std::move(query)]() -> Result<std::vector<access::AuditEntry>> {
    QV_TRY(call.check_access(Access::kManage));
    const access::AuditLog* log = call.runtime().audit();
    if (log == nullptr) return fail(Code::kFailedPrecondition, "Audit logging is not enabled");
    return access::read_audit_log(*log, query);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(read));
}

}  // namespace quiver::service::api

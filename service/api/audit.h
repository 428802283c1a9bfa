// A verb about the audit log.
#pragma once

#include <vector>

#include "service/access/audit_reader.h"
#include "service/api/call.h"

namespace quiver::service::api {

/// Entries that match, the newest first. kFailedPrecondition if nothing is audited.
void audit_entries(Call& call, access::AuditQuery query,
                   Done<std::vector<access::AuditEntry>> done);

}  // namespace quiver::service::api

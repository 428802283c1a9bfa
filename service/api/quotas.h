// Verbs about the quotas of the whole server.
#pragma once

#include "service/api/call.h"
#include "service/api/strict/quota.h"

namespace quiver::service::api {

struct QuotaStatus {
  strict::QuotaConfig config;
  strict::QuotaUsage usage;
};
void quotas(Call& call, Done<QuotaStatus> done);
/// Durable when answered.
void set_quotas(Call& call, const strict::QuotaConfig& config, Done<> done);

}  // namespace quiver::service::api

#include "service/api/quotas.h"

#include <utility>

#include "service/api/answer.h"

namespace quiver::service::api {

void quotas(Call& call, Done<QuotaStatus> done) {
  auto read = [&call]() -> Result<QuotaStatus> {
    QV_TRY(call.check_access(Access::kGlobalRead));
    const auto& quota = call.runtime().quota();
    return QuotaStatus{quota.config(), quota.usage()};
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(read));
}

void set_quotas(Call& call, const strict::QuotaConfig& config, Done<> done) {
  auto set = [&call, config]() -> Result<> {
    QV_TRY(call.check_access(Access::kManage));
    return call.runtime().quota().set(config);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(set));
}

}  // namespace quiver::service::api

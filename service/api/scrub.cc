#include "service/api/scrub.h"

#include <utility>

#include "service/api/answer.h"

namespace quiver::service::api {

void scrub_status(Call& call, Done<engine::ScrubStatus> done) {
  auto read = [&call]() -> Result<engine::ScrubStatus> {
    QV_TRY(call.check_access(Access::kGlobalRead));
    return call.runtime().database().scrub_status();
  };
  answer_on(call.runtime().reporting(), call, std::move(done), std::move(read));
}

void request_scrub(Call& call, Done<std::uint64_t> done) {
  auto request = [&call]() -> Result<std::uint64_t> {
    QV_TRY(call.check_access(Access::kManage));
    return call.runtime().database().request_scrub();
  };
  answer_on(call.runtime().reporting(), call, std::move(done), std::move(request));
}

}  // namespace quiver::service::api

#include "service/api/devices.h"

#include <utility>

#include "service/api/answer.h"

namespace quiver::service::api {

void devices(Call& call, Done<gpu::Report> done) {
  auto read = [&call]() -> Result<gpu::Report> {
    QV_TRY(call.check_access(Access::kGlobalRead));
    const gpu::Devices* devices = call.runtime().options().devices;
    return devices == nullptr ? gpu::Report() : devices->report();
  };
  answer_on(call.runtime().reporting(), call, std::move(done), std::move(read));
}

}  // namespace quiver::service::api

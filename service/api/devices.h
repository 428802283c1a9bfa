// Verbs about devices that searches use.
#pragma once

#include "gpu/devices.h"
#include "service/api/call.h"

namespace quiver::service::api {

/// What the devices hold and did.
void devices(Call& call, Done<gpu::Report> done);

}  // namespace quiver::service::api

// The endpoints of background jobs.
#pragma once

#include "service/handlers/handlers.h"

namespace quiver::service {

void add_job_routes(Routes& routes);

}  // namespace quiver::service

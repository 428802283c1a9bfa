// The endpoints of private sums.
#pragma once

#include "service/handlers/handlers.h"

namespace quiver::service {

void add_private_sum_routes(Routes& routes);

}  // namespace quiver::service

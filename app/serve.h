// `quiver serve`: from a configuration to a running server and back.
#pragma once

#include "app/config/config.h"
#include "base/result.h"

namespace quiver::app {

/// Opens the data, listens, prints where, and returns after SIGTERM or SIGINT when everything is
/// closed. A second signal ends the process at once. Called once per process, from its main thread.
[[nodiscard]] Result<> serve(Settings settings);

}  // namespace quiver::app

// `quiver serve`: runs a server with a given configuration.
#pragma once

#include "app/config/config.h"
#include "base/result.h"

namespace quiver::app {

/// Opens the data, listens and prints the address. After SIGTERM or SIGINT closes everything and
/// returns; a second signal ends the process at once. Call once per process, from the main thread.
[[nodiscard]] Result<> serve(Settings settings);

}  // namespace quiver::app

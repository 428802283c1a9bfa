// SIGTERM and SIGINT: end a command in good order.
#pragma once

#include "base/result.h"

namespace quiver::app {

/// Installs the handlers. The first SIGTERM or SIGINT makes `wait_for_stop` return; the second ends
/// the process at once with status 128 + its number. Also ignores SIGPIPE.
[[nodiscard]] Result<> install_stop_signals();
/// Blocks until the first signal; returns its number.
[[nodiscard]] int wait_for_stop();
/// Number of the first signal, 0 if there was none. Does not block.
[[nodiscard]] int stop_signal();

}  // namespace quiver::app

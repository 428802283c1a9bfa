// Waiting for the signals that end a server.
#pragma once

#include "base/result.h"

namespace quiver::app {

/// From now on the first SIGTERM or SIGINT lets `wait_for_stop` return, and the second ends the
/// process at once with 128 + its number. Writing to a closed connection raises no signal.
[[nodiscard]] Result<> install_stop_signals();
/// Blocks until the first signal; returns its number.
[[nodiscard]] int wait_for_stop();
/// The number of the signal that came, 0 if none did. Does not block.
[[nodiscard]] int stop_signal();

}  // namespace quiver::app

// The flags of `quiver inspect`.
#pragma once

#include <CLI/CLI.hpp>

#include "app/inspect/options.h"

namespace quiver::app {

/// Adds the subcommand; parsing fills `options`, which outlives `app`.
CLI::App* add_inspect(CLI::App& app, InspectOptions& options);

}  // namespace quiver::app

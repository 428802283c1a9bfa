// The flags of `quiver import`.
#pragma once

#include <CLI/CLI.hpp>

#include "app/import/plan/options.h"

namespace quiver::app {

/// Adds the subcommand; parsing fills `options`, which outlives `app`.
CLI::App* add_import(CLI::App& app, ImportOptions& options);

}  // namespace quiver::app

// `quiver import` on the command line.
#pragma once

#include <CLI/CLI.hpp>

#include "app/import/plan/options.h"

namespace quiver::app {

/// Adds the subcommand; parsing fills `options`, which outlives `app`.
CLI::App* add_import(CLI::App& app, ImportOptions& options);

}  // namespace quiver::app

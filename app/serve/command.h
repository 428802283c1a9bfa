// The flags of `quiver serve`.
#pragma once

#include <CLI/CLI.hpp>

#include "app/config/config.h"
#include "base/result.h"

namespace quiver::app {

/// What the command line of `quiver serve` asks for.
struct ServeOptions {
  Flags flags;
  bool print_config = false;
  bool config_docs = false;
};

/// Adds the subcommand; parsing fills `options`, which outlives `app`.
CLI::App* add_serve(CLI::App& app, ServeOptions& options);

/// Runs the server, or prints what `options` asks for instead.
[[nodiscard]] Result<> run_serve(const ServeOptions& options);

}  // namespace quiver::app

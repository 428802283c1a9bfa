// The flags of `quiver export`.
#pragma once

#include <CLI/CLI.hpp>

#include "app/export/options.h"

namespace quiver::app {

/// Adds the flags that name a collection: of a server (`--url`, `--ca`, `--api-key`) or in a
/// `--data-dir`.
void add_collection_flags(CLI::App& command, ExportOptions& options);

/// Adds the subcommand; parsing fills `options`, which outlives `app`.
CLI::App* add_export(CLI::App& app, ExportOptions& options);

}  // namespace quiver::app

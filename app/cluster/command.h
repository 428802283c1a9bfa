// The flags of `quiver cluster`.
#pragma once

#include <CLI/CLI.hpp>

#include "app/cluster/options.h"

namespace quiver::app {

/// Adds the subcommand and returns its subcommand `status`; parsing fills `options`, which outlives
/// `app`.
CLI::App* add_cluster(CLI::App& app, ClusterStatusOptions& options);

}  // namespace quiver::app

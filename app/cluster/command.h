// The flags of `quiver cluster`.
#pragma once

#include <CLI/CLI.hpp>

#include "app/cluster/options.h"

namespace quiver::app {

struct ClusterCommands {
  CLI::App* status;
  CLI::App* check;
  CLI::App* adopt;
  CLI::App* drain;
  CLI::App* remove;
  CLI::App* balance;
};

/// Adds the subcommand; parsing fills `options`, which outlives `app`.
ClusterCommands add_cluster(CLI::App& app, ClusterStatusOptions& options);

}  // namespace quiver::app

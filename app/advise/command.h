// The flags of `quiver advise`.
#pragma once

#include <CLI/CLI.hpp>

#include "bench/advise/advise.h"

namespace quiver::app {

/// Adds the subcommand, which fills `options`.
CLI::App* add_advise(CLI::App& app, bench::AdviseOptions& options);

}  // namespace quiver::app

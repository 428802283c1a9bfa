// The flags of `quiver check` and `quiver repair`.
#pragma once

#include <CLI/CLI.hpp>

#include "app/check/options.h"

namespace quiver::app {

CLI::App* add_check(CLI::App& app, CheckOptions& options);
CLI::App* add_repair(CLI::App& app, RepairOptions& options);

}  // namespace quiver::app

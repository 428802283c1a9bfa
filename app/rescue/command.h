// The flags of `quiver rescue`.
#pragma once

#include <CLI/CLI.hpp>

#include "app/rescue/options.h"

namespace quiver::app {

CLI::App* add_rescue(CLI::App& app, RescueOptions& options);

}  // namespace quiver::app

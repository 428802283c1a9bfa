#pragma once

#include "app/load/load.h"

namespace CLI {
class App;
}

namespace quiver::app {

/// Adds `load` below `bench`; parsing fills `options`.
CLI::App* add_load(CLI::App& bench, LoadOptions& options);

}  // namespace quiver::app

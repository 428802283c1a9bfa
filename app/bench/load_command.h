// The flags of `quiver bench load`.
#pragma once

#include "bench/load/load.h"

namespace CLI {
class App;
}

namespace quiver::app {

/// Adds `load` to `parent`; parsing fills `options`, which outlives it.
CLI::App* add_load(CLI::App& parent, bench::LoadOptions& options);

}  // namespace quiver::app

// The flags of `quiver bench ann`.
#pragma once

#include "bench/ann/ann.h"

namespace CLI {
class App;
}

namespace quiver::app {

/// Adds `ann` to `parent`; parsing fills `options`, which outlives it.
CLI::App* add_ann(CLI::App& parent, bench::AnnOptions& options);

}  // namespace quiver::app

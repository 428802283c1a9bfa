#pragma once

#include "app/ann/ann.h"

namespace CLI {
class App;
}

namespace quiver::app {

/// Adds `ann` below `bench`; parsing fills `options`.
CLI::App* add_ann(CLI::App& bench, AnnOptions& options);

}  // namespace quiver::app

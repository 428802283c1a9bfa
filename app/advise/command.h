// `quiver advise`: flags, and where the rows come from.
#pragma once

#include <CLI/CLI.hpp>

#include "app/export/options.h"
#include "bench/advise/advise.h"

namespace quiver::app {

struct AdviseCommand {
  bench::AdviseOptions advise;
  ExportOptions from;  ///< without a `collection` the rows are those of `advise.base`
};

/// Adds the subcommand; parsing fills `options`, which outlives `app`.
CLI::App* add_advise(CLI::App& app, AdviseCommand& options);

[[nodiscard]] Result<> run_advise(AdviseCommand options);

}  // namespace quiver::app

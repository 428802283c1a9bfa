// Command line errors that CLI11 cannot detect: flags that exclude each other, malformed values.
#pragma once

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace quiver::app {

/// Throws the error, if there is one, as an error of CLI11: exit status 2 and a hint at --help. For
/// callbacks of subcommands.
inline void throw_if_wrong(const Result<>& checked) {
  if (!checked) throw CLI::ValidationError(checked.error().message());
}

}  // namespace quiver::app

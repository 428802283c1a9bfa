// Command line errors that CLI11 cannot see: flags that exclude each other, words within a flag.
#pragma once

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace quiver::app {

/// Call it in a subcommand's callback. Ends parsing like CLI11's own errors: exit status 2 and a
/// hint at --help.
inline void throw_if_wrong(const Result<>& checked) {
  if (!checked) throw CLI::ValidationError(checked.error().message());
}

}  // namespace quiver::app

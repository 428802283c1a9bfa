// Slips of a command line that its parser does not see: how flags fit together, words within them.
#pragma once

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace quiver::app {

/// For the callback of a subcommand: ends parsing as the parser's own errors do, with exit status 2
/// and a word on --help.
inline void throw_if_wrong(const Result<>& checked) {
  if (!checked) throw CLI::ValidationError(checked.error().message());
}

}  // namespace quiver::app

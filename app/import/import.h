// `quiver import`: reads files of vectors and payloads into a collection.
#pragma once

#include "app/import/plan/options.h"
#include "base/result.h"

namespace quiver::app {

/// Returns the exit status: 0 when everything is imported, 128 + its number after a signal. Prints
/// progress to stderr and the result to stdout. An error also says how to continue.
[[nodiscard]] Result<int> run_import(ImportOptions options);

}  // namespace quiver::app

// `quiver import`: files of vectors and payloads into a collection.
#pragma once

#include "app/import/plan/options.h"
#include "base/result.h"

namespace quiver::app {

/// The exit status: 0 when everything is imported, 128 + its number after a signal. Prints progress
/// to stderr and what was done to stdout. An error says also how to go on.
[[nodiscard]] Result<int> run_import(ImportOptions options);

}  // namespace quiver::app

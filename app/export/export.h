// `quiver export`: writes a collection to files.
#pragma once

#include "app/export/options.h"
#include "base/result.h"

namespace quiver::app {

/// Returns the exit status: 0, or 128 + its number after a signal, which leaves no files. Prints
/// progress to stderr and the result to stdout.
[[nodiscard]] Result<int> run_export(ExportOptions options);

}  // namespace quiver::app

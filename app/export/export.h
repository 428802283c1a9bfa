// `quiver export`: a collection into files.
#pragma once

#include "app/export/options.h"
#include "base/result.h"

namespace quiver::app {

/// Exit status 0, or 128 + its number after a signal; then nothing stays. Prints progress to stderr
/// and what was done to stdout.
[[nodiscard]] Result<int> run_export(ExportOptions options);

}  // namespace quiver::app

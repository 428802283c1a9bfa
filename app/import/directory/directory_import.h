// Imports directly into a data directory that no server has open.
#pragma once

#include "app/import/plan/options.h"
#include "app/import/plan/plan.h"
#include "base/result.h"

namespace quiver::app {

/// Returns the exit status, as `run_import`. The collection keeps the state of the import, written
/// atomically with the rows. kUnavailable if a server has the directory open.
[[nodiscard]] Result<int> import_to_directory(const ImportOptions& options, const ImportPlan& plan);

}  // namespace quiver::app

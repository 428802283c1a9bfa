// Imports straight into a data directory that no server has open.
#pragma once

#include "app/import/plan/options.h"
#include "app/import/plan/plan.h"
#include "base/result.h"

namespace quiver::app {

/// As `run_import`. The state of the import is kept in the collection itself, in one step with its
/// rows. kUnavailable if a server holds the directory.
[[nodiscard]] Result<int> import_to_directory(const ImportOptions& options, const ImportPlan& plan);

}  // namespace quiver::app

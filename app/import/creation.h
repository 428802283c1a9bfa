// The body that creates the collection of an import, wherever it comes from.
#pragma once

#include <string>
#include <vector>

#include "app/import/column_reader.h"
#include "app/import/options.h"
#include "app/import/plan.h"
#include "base/result.h"

namespace quiver::app {

/// From `--create`, else from the export that is imported, else from the sources. kNotFound if
/// nobody asked for a creation.
[[nodiscard]] Result<std::string> body_to_create(const ImportOptions& options,
                                                 const ImportPlan& plan,
                                                 const std::vector<ColumnReader>& columns);

}  // namespace quiver::app

// The collection of an import: the body that creates it, and whether what is there is what the
// flags say.
#pragma once

#include <string>
#include <vector>

#include "app/import/plan/column_reader.h"
#include "app/import/plan/options.h"
#include "app/import/plan/plan.h"
#include "base/result.h"
#include "base/schema.h"

namespace quiver::app {

/// From `--create`, else from the export that is imported, else from the sources. kNotFound if
/// nobody asked for a creation.
[[nodiscard]] Result<std::string> body_to_create(const ImportOptions& options,
                                                 const ImportPlan& plan,
                                                 const std::vector<ColumnReader>& columns);

/// kFailedPrecondition unless a collection of these fields takes the sources and is what the flags
/// ask for: each word of --metric and --dtype, and each field of a body that is given for --create.
[[nodiscard]] Result<> check_collection(const std::vector<FieldSchema>& fields,
                                        const ImportOptions& options, const ImportPlan& plan,
                                        const std::vector<ColumnReader>& columns);

}  // namespace quiver::app

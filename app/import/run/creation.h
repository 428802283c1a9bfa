// The target collection of an import: the body that creates it, and checks of an existing one.
#pragma once

#include <string>
#include <vector>

#include "app/import/plan/column_reader.h"
#include "app/import/plan/options.h"
#include "app/import/plan/plan.h"
#include "base/result.h"
#include "base/schema.h"

namespace quiver::app {

/// The creation body, from `--create`, else from the imported export, else from the sources.
/// kNotFound if neither flag nor export asks for a creation.
[[nodiscard]] Result<std::string> body_to_create(const ImportOptions& options,
                                                 const ImportPlan& plan,
                                                 const std::vector<ColumnReader>& columns);

/// kFailedPrecondition unless a collection with these fields accepts the sources and agrees with
/// --metric, --dtype and each field in the body of --create.
[[nodiscard]] Result<> check_collection(const std::vector<FieldSchema>& fields,
                                        const ImportOptions& options, const ImportPlan& plan,
                                        const std::vector<ColumnReader>& columns);

}  // namespace quiver::app

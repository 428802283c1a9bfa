// The identity of an import: whether a run continues an earlier one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/import/plan/options.h"
#include "app/import/plan/plan.h"
#include "base/result.h"

namespace quiver::app {

/// One line for the target, for each source with size and time, and for each flag that changes what
/// is written. kNotFound if a source does not exist.
[[nodiscard]] Result<std::vector<std::string>> import_identity(const ImportOptions& options,
                                                               const ImportPlan& plan);
/// Describes the first line in which `before` and `now` differ: another file, another size or time,
/// another flag. Empty if they are equal.
[[nodiscard]] std::string first_difference(const std::vector<std::string>& before,
                                           const std::vector<std::string>& now);

/// The beginning of a file's line, which names the file.
[[nodiscard]] std::string file_text(const std::string& path);
/// That beginning of `line`; empty if the line is not about a file.
[[nodiscard]] std::string_view file_part(std::string_view line);

/// "COLLECTION.SOURCE.import" in the current directory.
[[nodiscard]] std::string default_state_path(const ImportOptions& options, const ImportPlan& plan);

}  // namespace quiver::app

// What makes an import the same as an earlier one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/import/plan/options.h"
#include "app/import/plan/plan.h"
#include "base/result.h"

namespace quiver::app {

/// Target, sources with their sizes and times, and the flags that change what is written: a line
/// each. kNotFound if a source is not there.
[[nodiscard]] Result<std::vector<std::string>> import_identity(const ImportOptions& options,
                                                               const ImportPlan& plan);
/// In words, the first line of `before` or `now` that the other does not have in its place: another
/// file, the same one with another size or time, another flag. Empty: none.
[[nodiscard]] std::string first_difference(const std::vector<std::string>& before,
                                           const std::vector<std::string>& now);

/// How the line of a file begins, which names it.
[[nodiscard]] std::string file_text(const std::string& path);
/// That beginning of `line`; empty: the line is of no file.
[[nodiscard]] std::string_view file_part(std::string_view line);

/// "COLLECTION.SOURCE.import" in the current directory.
[[nodiscard]] std::string default_state_path(const ImportOptions& options, const ImportPlan& plan);

}  // namespace quiver::app

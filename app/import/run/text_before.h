// Compares the text sources of an import before a row: text after it may change between runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/import/plan/plan.h"
#include "base/result.h"

namespace quiver::app {

/// Reads the first `n_lines` lines of each text source of the plan and returns their digest.
/// kOutOfRange if a source has fewer lines.
[[nodiscard]] Result<std::string> digest_of_texts(const ImportPlan& plan, std::uint64_t n_lines);

/// True if two identities (`import_identity`) differ only in sizes and times of the plan's text
/// sources.
[[nodiscard]] bool differ_in_texts_only(const std::vector<std::string>& before,
                                        const std::vector<std::string>& now,
                                        const ImportPlan& plan);

}  // namespace quiver::app

// What the text sources of an import hold before a row: a text may be mended behind it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/import/plan/plan.h"
#include "base/result.h"

namespace quiver::app {

/// A digest of the first `n_lines` lines of each of the plan's text sources; kOutOfRange if one has
/// fewer. Reads them.
[[nodiscard]] Result<std::string> digest_of_texts(const ImportPlan& plan, std::uint64_t n_lines);

/// Whether identities of imports (`import_identity`) differ in nothing but the sizes and times of
/// the plan's text sources.
[[nodiscard]] bool differ_in_texts_only(const std::vector<std::string>& before,
                                        const std::vector<std::string>& now,
                                        const ImportPlan& plan);

}  // namespace quiver::app

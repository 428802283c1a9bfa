// `quiver inspect PATH`: prints what each file of a data directory is.
#pragma once

#include <string>
#include <vector>

#include "app/inspect/options.h"
#include "base/result.h"
#include "engine/files/describe.h"

namespace quiver::app {

[[nodiscard]] Result<> print_files(const InspectOptions& options);

/// Two lines for each file: facts, and what it is. Then the sum.
[[nodiscard]] std::string files_text(const std::vector<engine::FileFacts>& files);
/// A JSON object for each file and line.
[[nodiscard]] std::string files_json(const std::vector<engine::FileFacts>& files);

}  // namespace quiver::app

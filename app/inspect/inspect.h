// `quiver inspect`: prints the segments of a data directory and their vector indexes.
#pragma once

#include <string>

#include "app/inspect/options.h"
#include "base/result.h"
#include "engine/collection.h"

namespace quiver::app {

/// kInvalidArgument unless there is a path or a data directory.
[[nodiscard]] Result<> check_usage(const InspectOptions& options);
/// Prints the files or the collections to stdout.
Result<> run_inspect(const InspectOptions& options);

/// The text that `run_inspect` prints for one collection.
[[nodiscard]] std::string inspection(const std::string& name, const engine::CollectionInfo& info,
                                     const std::vector<engine::SegmentIndexInfo>& indexes);

}  // namespace quiver::app

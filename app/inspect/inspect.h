// `quiver inspect`: the segments of a data directory, and what their vectors are searched with.
#pragma once

#include <string>

#include "app/inspect/options.h"
#include "base/result.h"
#include "engine/collection.h"

namespace quiver::app {

/// Prints to stdout.
Result<> run_inspect(const InspectOptions& options);

/// A collection as `run_inspect` prints it, for people.
[[nodiscard]] std::string inspection(const std::string& name, const engine::CollectionInfo& info,
                                     const std::vector<engine::SegmentIndexInfo>& indexes);

}  // namespace quiver::app

// Measures the recall of searches of a field by effort, against exact searches.
#pragma once

#include "base/result.h"
#include "engine/model/recall.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// As Collection::measure_recall.
[[nodiscard]] Result<RecallTable> measure_recall(const SearchEnvironment& environment,
                                                 const RecallRequest& request);

}  // namespace quiver::engine

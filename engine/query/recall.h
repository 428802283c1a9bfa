// Measures the recall of searches of a field by effort, against exact searches.
#pragma once

#include "base/result.h"
#include "engine/model/recall.h"
#include "engine/query/stages/environment.h"
#include "engine/recall/watched_search.h"

namespace quiver::engine {

/// As Collection::measure_recall.
[[nodiscard]] Result<RecallTable> measure_recall(const SearchEnvironment& environment,
                                                 const RecallRequest& request);

/// The share of the hits of an exact search that `search` found: it is done again.
[[nodiscard]] Result<double> recall_of(const SearchEnvironment& environment,
                                       const WatchedSearch& search);

}  // namespace quiver::engine

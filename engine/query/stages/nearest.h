// The nearest vectors of one field: the stage that searches, and queries that are searched
// together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/stages/candidates.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// The best `limits[i]` of `queries[i]`, best first; thresholds and offsets do not count here. At
/// least one query; all are plain nearest queries of one field with the same parameters, each with
/// its own filter.
[[nodiscard]] Result<std::vector<Ranking>> search_nearest(const SearchEnvironment& environment,
                                                          std::span<const Query* const> queries,
                                                          std::span<const std::uint64_t> limits);

/// True for a plain nearest query: vector given by value, no prefetch or MMR. It may have a filter.
[[nodiscard]] bool is_plain_nearest(const Query& query);

}  // namespace quiver::engine

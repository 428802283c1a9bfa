// Several queries answered together: plain nearest queries of one field share a pass over its
// vectors where the index supports that.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// True if both are plain nearest queries (vector by value, no filter, prefetch or MMR) of the same
/// field with the same parameters.
[[nodiscard]] bool are_searched_alike(const Query& a, const Query& b);

/// One answer for each query, the same as `Plan::run` gives. An error of one is that of all.
[[nodiscard]] Result<std::vector<std::vector<Record>>> run_queries(
    const SearchEnvironment& environment, std::span<const Query> queries);

}  // namespace quiver::engine

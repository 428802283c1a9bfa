// Answers of several parts of a collection as one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/model/aggregates.h"
#include "engine/model/facets.h"
#include "engine/model/query.h"

namespace quiver::engine {

/// `pages`: of the same request to each part.
[[nodiscard]] ScrollPage merge_pages(std::vector<ScrollPage> pages, const ScrollRequest& request);
/// `parts`: all values of each part.
[[nodiscard]] std::vector<FacetHit> merge_facets(std::vector<std::vector<FacetHit>> parts,
                                                 std::uint64_t limit);

/// What each part must be asked, so that answers can be merged.
[[nodiscard]] AggregateRequest for_parts(AggregateRequest request);
/// `parts`: answers to `for_parts(request)`. kInvalidArgument for more buckets than an answer may
/// have. A sum that is no integer is that of the parts' sums.
[[nodiscard]] Result<std::vector<Aggregate>> merge_aggregates(
    const std::vector<std::vector<Aggregate>>& parts, const AggregateRequest& request);

}  // namespace quiver::engine

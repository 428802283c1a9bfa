// Exact scores for points that prefetches found.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/query/stages/candidates.h"
#include "engine/query/stages/environment.h"
#include "engine/query/stages/field_query.h"

namespace quiver::engine {

/// The best `limit` of `candidates` by `query`; those that are no hits of it are left out.
[[nodiscard]] Result<Ranking> rescore(const SearchEnvironment& environment, const FieldQuery& query,
                                      Candidates candidates, std::uint64_t limit);

}  // namespace quiver::engine

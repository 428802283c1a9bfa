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
#include "payload/filter/predicate.h"

namespace quiver::engine {

/// A nearest query and how many hits it wants. Borrowed.
struct NearestQuery {
  const Query* query = nullptr;
  std::uint64_t limit = 0;
};

/// The best of each query, best first, without thresholds. The queries are of one field and have
/// the same parameters; `predicate` (nullptr: none) holds for all of them. At least one query.
[[nodiscard]] Result<std::vector<Ranking>> search_nearest(const SearchEnvironment& environment,
                                                          std::span<const NearestQuery> queries,
                                                          const payload::Predicate* predicate);

/// True for a plain nearest query: vector given by value, no filter, prefetch or MMR.
[[nodiscard]] bool is_plain_nearest(const Query& query);

}  // namespace quiver::engine

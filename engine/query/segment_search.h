// The nearest vectors of one field over all segments of a snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/candidates.h"
#include "engine/query/search.h"
#include "index/prepared_query.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {

/// Queries of one field that are searched alike, over one pass of its vectors where the index can.
/// All that it points to is borrowed.
struct FieldSearch {
  std::vector<const index::PreparedQuery*> queries;
  std::vector<std::uint64_t> limits;  ///< one for each
  std::size_t field;
  const payload::Predicate* predicate;  ///< nullptr: every row may be a hit
  const SearchParams& params;
};

/// The best of each query, best first. Segments are searched in parallel on the environment's
/// executor, if it has one.
[[nodiscard]] Result<std::vector<Candidates>> search_segments(const SearchEnvironment& environment,
                                                              const FieldSearch& search);

}  // namespace quiver::engine

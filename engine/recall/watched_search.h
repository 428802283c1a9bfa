// A search by recall that is to be done again exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/model/query.h"
#include "engine/model/recall.h"
#include "engine/segment/snapshot.h"
#include "index/prepared_query.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {

/// Owns all that it needs, for after the request.
struct WatchedSearch {
  std::size_t field = 0;
  RecallTarget target;
  std::uint64_t limit = 0;
  index::PreparedQuery query;
  std::shared_ptr<const payload::Predicate> predicate;  ///< nullptr: every row may be a hit
  SearchParams params;                                  ///< exact, without a target
  Snapshot snapshot;                                    ///< that the request read
  std::vector<float> scores;                            ///< of the hits that were found
};

}  // namespace quiver::engine

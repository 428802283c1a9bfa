// Pairs of similar rows, and the groups that they connect.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/model/joins.h"
#include "engine/query/joins/neighbour_search.h"

namespace quiver::engine {

/// The rows of at least one pair, ascending, with the others of their pairs.
struct DuplicateRows {
  std::vector<std::uint32_t> rows;
  std::vector<Neighbours> pairs;  ///< for each of `rows`, best first; each pair both ways
  /// For each of `rows` the row of its group that is kept. Groups are connected by pairs.
  std::vector<std::uint32_t> kept;
};

/// All pairs with a score of `min_score` or better, as users see scores. Each search asks for more
/// until its last hit is worse. kResourceExhausted if there are more pairs than kMaxJoinEntries.
[[nodiscard]] Result<DuplicateRows> find_duplicates(const NeighbourSearch& search,
                                                    const DuplicatesJoin& request,
                                                    JoinProgress& progress);

}  // namespace quiver::engine

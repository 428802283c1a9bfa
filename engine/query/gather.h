// A query over parts of a collection that cannot be read together. Each part answers the searches
// of the query (`searches_of`) with the rows that it finds. All else
// (fusions, scores of prefetches, MMR, formulas) runs over these rows as over any segment.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/indexing/indexes.h"
#include "engine/model/config.h"
#include "engine/model/found.h"
#include "engine/query/plan.h"
#include "engine/query/stages/environment.h"
#include "engine/segment/snapshot.h"

namespace quiver::engine {

/// What the rest of `query` reads of the rows.
[[nodiscard]] RowParts parts_read(const Query& query);

/// How rare the terms of `node`, the question of a `CountedNode`, are in a snapshot.
[[nodiscard]] Result<CorpusCounts> count_terms_of(const SearchEnvironment& environment,
                                                  const Query& node);

/// What `search`, one of `searches_of`, finds in a snapshot.
[[nodiscard]] Result<FoundPoints> find_points(const SearchEnvironment& environment,
                                              const Query& search, RowParts wanted);

/// The best `limit` of what several parts found. `search`: what they were asked.
[[nodiscard]] FoundPoints merge_found(std::vector<FoundPoints> parts, const Query& search,
                                      std::uint64_t limit);

/// A snapshot of the rows in `found`, each point once. Fields that `config` does not know yet are
/// left out. kUnavailable if a row does not fit the other ones.
[[nodiscard]] Result<Snapshot> snapshot_of_found(const std::vector<FoundPoints>& found,
                                                 const CollectionConfig& config);

/// A ranking and the rows that it points to.
struct Gathered {
  std::shared_ptr<const Snapshot> rows;
  Ranking ranking;
};
/// The ranking of `query`, without the offset. `found`: for each of its searches, in order.
[[nodiscard]] Result<Gathered> rank_found(const std::vector<FoundPoints>& found, const Query& query,
                                          const CollectionConfig& config, const Cancel& cancel);

}  // namespace quiver::engine

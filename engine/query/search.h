// Answers a query from one snapshot: leaves are searched segment by segment, then fused or
// re-scored on the way up.
#pragma once

#include <span>
#include <vector>

#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "engine/indexing/indexes.h"
#include "engine/indexing/query_samples.h"
#include "engine/model/config.h"
#include "engine/model/query.h"
#include "engine/segment/snapshot.h"

namespace quiver::engine {

struct SearchEnvironment {
  const Snapshot& snapshot;
  const CollectionConfig& config;
  const Cancel& cancel;
  Executor* executor = nullptr;  ///< nullptr: stay on this thread
  IndexPolicy indexes = {};
  index::WorkCounters* work = nullptr;  ///< if there is one, the searches' work is added to it
  QuerySamples* queries = nullptr;      ///< where queries given by value are remembered, if at all
};

[[nodiscard]] Result<std::vector<Record>> run_query(const SearchEnvironment& environment,
                                                    const Query& query);

/// An answer for each, as `run_query` gives it. Plain nearest queries of one field share a pass
/// over its vectors where the index can.
[[nodiscard]] Result<std::vector<std::vector<Record>>> run_queries(
    const SearchEnvironment& environment, std::span<const Query> queries);

/// Whether both ask the same field in the same way for the nearest of a vector given by value,
/// among all rows.
[[nodiscard]] bool are_searched_alike(const Query& a, const Query& b);

/// See `Collection::shares_passes`.
[[nodiscard]] bool shares_passes(const Snapshot& snapshot, const Query& query);

/// About the bytes that the answer takes reading (`Searcher::bytes_per_search`), filters at most.
[[nodiscard]] std::uint64_t scan_bytes(const Snapshot& snapshot, const Query& query);

}  // namespace quiver::engine

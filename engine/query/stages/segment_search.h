// The nearest vectors of one field over all segments of a snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/model/query.h"
#include "engine/query/stages/candidates.h"
#include "engine/query/stages/environment.h"
#include "index/prepared_query.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {

/// Queries of one field with the same parameters. They share a pass over its vectors where the
/// index supports that. Borrows all that it refers to.
struct FieldSearch {
  std::span<const index::PreparedQuery* const> queries;
  std::span<const std::uint64_t> limits;  ///< hits wanted by each query
  std::size_t field;
  const payload::Predicate* predicate;  ///< of all queries; nullptr: every row may be a hit
  const SearchParams& params;
  /// Receives how `params.target` is reached; nullptr: nobody asks.
  RecallReport* recall = nullptr;
  /// In place of `predicate` that of each query, where they differ; equal pointers are equal
  /// filters. Not with a `params.target`, which depends on the filter.
  std::span<const payload::Predicate* const> own_predicates = {};
};

/// Whether all vectors are compared, as stored.
[[nodiscard]] inline bool is_exact_search(FieldKind kind, const SearchParams& params) {
  return params.exact || (params.ignore_codes && kind != FieldKind::kSparse);
}

/// The same, or because the segment has no index of the field.
[[nodiscard]] bool compares_all_rows(const SegmentData& data, std::size_t field,
                                     const SearchParams& params);

/// Of all segments of the snapshot.
[[nodiscard]] FieldPoints points_of(const Snapshot& snapshot, std::size_t field);

/// The hits of each query, best first by (score, id). Segments are searched in parallel on the
/// environment's executor, if it has one.
[[nodiscard]] Result<std::vector<Candidates>> search_segments(const SearchEnvironment& environment,
                                                              const FieldSearch& search);

}  // namespace quiver::engine

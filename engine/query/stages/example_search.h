// The best rows by several examples, over all segments of a snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "engine/query/examples/example_score.h"
#include "engine/query/stages/candidates.h"
#include "engine/query/stages/environment.h"
#include "index/prepared_query.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {

/// Borrows all that it refers to.
struct ExampleSearch {
  std::span<const index::PreparedQuery* const> examples;
  const ExampleScore& score;
  /// A nearest query that orders rows as the score does; nullptr: there is none.
  const index::PreparedQuery* nearest;
  std::size_t field;
  std::uint64_t limit;
  const payload::Predicate* predicate;  ///< nullptr: every row may be a hit
  const SearchParams& params;
};

/// Candidates that an index is asked for, to find `limit` hits: more than the limit, because a
/// vector made of examples is unlike the queries that the index was tried with.
[[nodiscard]] std::uint64_t n_candidates(std::uint64_t limit);

/// The hits, best first by (score, id). Scores are exact. Rows are all compared where no index can
/// propose candidates: then the hits are exact, too.
[[nodiscard]] Result<Candidates> search_by_examples(const SearchEnvironment& environment,
                                                    const ExampleSearch& search);

/// Scores `candidates` anew; those without a vector are left out. Best first, at most
/// `search.limit`.
[[nodiscard]] Result<Candidates> rescore_by_examples(const SearchEnvironment& environment,
                                                     const ExampleSearch& search,
                                                     Candidates candidates);

}  // namespace quiver::engine

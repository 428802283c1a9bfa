// The trial of a dense index: its recall is measured when it is built, and searches adapt.
//
// Codes and lists suit nearly all data. Exceptions are rows of very unequal lengths under Dot, a
// dimension a thousand times another, and rows without structure. A default search must not miss
// most of the best rows there either.
#pragma once

#include <cstdint>

#include "base/io/file.h"
#include "base/result.h"
#include "index/index.h"

namespace quiver::index::dense {

/// Stored in the file `trial.qvx`.
struct TrialFacts {
  std::uint32_t n_queries = 0;  ///< queries of the trial; 0: there was no trial
  /// Recall of the queries' 11 nearest rows: of default searches (`effort` 128), and of searches
  /// with 128 times the factor `effort` below.
  float recall = 1;
  float recall_with_effort = 1;
  /// Factor on `effort` that gives enough recall. 0: no factor does, so default searches are exact.
  float effort = 1;
};

/// Measures the index of `column` in `out` and writes the result to `trial.qvx`. If
/// `may_drop_graph`, removes a graph with too little recall if the lists find enough for no more,
/// or if no effort is enough. The bytes do not depend on the number of threads.
[[nodiscard]] Result<> try_out(const FieldColumn& column, bool may_drop_graph,
                               const BuildContext& context, Directory& out);

/// Reads the file of `try_out`; without one, facts of an index without a trial.
[[nodiscard]] Result<TrialFacts> open_trial(const Directory& directory, std::uint32_t n_rows,
                                            std::uint64_t& n_bytes);

}  // namespace quiver::index::dense

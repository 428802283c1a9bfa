// How an index of dense vectors does on rows of its own, tried when it is built. Codes and lists
// suit nearly all data; where they do not (rows of very unequal lengths under Dot, two dimensions
// of which one is a thousand times the other, rows without any structure), searches that nobody
// steers must not miss most of what there is.
#pragma once

#include <cstdint>

#include "base/io/file.h"
#include "base/result.h"
#include "index/index.h"

namespace quiver::index::dense {

/// Part of a file.
struct TrialFacts {
  std::uint32_t n_queries = 0;  ///< halfway between near rows; 0: nothing was tried
  /// Of their eleven nearest, the share that usual searches found, `effort` as it is and as below.
  float recall = 1;
  float recall_with_effort = 1;
  /// What `effort` is multiplied by so that they find enough; 0: nothing does, and searches are
  /// exact but where lists are steered by name.
  float effort = 1;
};

/// Tries what lies in `out`, the index of `column`, and writes what was found to a file of its own.
/// A graph that finds too little, and less than lists, is removed if `may_drop_graph`. The same
/// bytes for any number of threads.
[[nodiscard]] Result<> try_out(const FieldColumn& column, bool may_drop_graph,
                               const BuildContext& context, Directory& out);

/// As `try_out` wrote them; those of an index that was not tried if there is no such file.
[[nodiscard]] Result<TrialFacts> open_trial(const Directory& directory, std::uint32_t n_rows,
                                            std::uint64_t& n_bytes);

}  // namespace quiver::index::dense

// The files of a dense index: those of the lists, of the graph if there is one, and of the trial
// (docs/formats/ivf.md, docs/formats/graph.md).
#pragma once

#include <cstdint>
#include <optional>

#include "index/dense/graph/graph.h"
#include "index/dense/lists/search/candidate_search.h"
#include "index/dense/params.h"
#include "index/dense/trial.h"
#include "index/index.h"

namespace quiver::index::dense {

/// kInvalidArgument if parameters contradict each other.
[[nodiscard]] Result<> check(const DenseBuildParams& params);

/// `older`: lists of an index that shares many of these rows, or nullptr. Progress ends at the
/// number of rows.
Result<> write_files(const FieldColumn& column, const DenseBuildParams& params,
                     const Partition* older, const BuildContext& context, Directory& out);

struct OpenFiles {
  CandidateSearch lists;
  std::optional<Graph> graph;
  TrialFacts trial;
  std::uint64_t n_bytes = 0;  ///< mapped files
};

/// kDataLoss if the files are damaged or belong to another column.
[[nodiscard]] Result<OpenFiles> open_files(const Directory& directory, const FieldColumn& column);

}  // namespace quiver::index::dense

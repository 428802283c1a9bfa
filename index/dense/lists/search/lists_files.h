// The files of an IVF index: docs/formats/ivf.md.
#pragma once

#include <cstdint>

#include "base/io/file.h"
#include "index/dense/lists/params.h"
#include "index/dense/lists/search/candidate_search.h"
#include "index/index.h"

namespace quiver::index::dense {

/// kInvalidArgument unless there can be second codes of so many bits.
[[nodiscard]] Result<> check_refine_bits(std::uint32_t bits);

/// Writes the lists of a dense column and, if they are asked for, second codes. `older`: lists of
/// many of these rows, or nullptr: then lists start as those in `context.former` did.
Result<> write_lists(const FieldColumn& column, const ListsBuildParams& params,
                     const Partition* older, const BuildContext& context, Directory& out);

struct OpenLists {
  CandidateSearch candidates;
  std::uint64_t n_bytes = 0;  ///< mapped
};

/// What dense column the files were written for.
struct ListsColumn {
  const FieldSchema& schema;
  std::uint32_t n_rows = 0;
  std::uint32_t n_present = 0;
};

/// kDataLoss if the files are damaged or of another column.
[[nodiscard]] Result<OpenLists> open_lists(const Directory& directory, const ListsColumn& column);

}  // namespace quiver::index::dense

// The files of posting lists: docs/formats/ivf.md.
#pragma once

#include <cstdint>
#include <span>

#include "base/io/file.h"
#include "index/dense/lists/params.h"
#include "index/dense/lists/row_source.h"
#include "index/dense/lists/search/candidate_search.h"
#include "index/index.h"

namespace quiver::index::dense {

/// kInvalidArgument unless second codes may have `bits` bits.
[[nodiscard]] Result<> check_refine_bits(std::uint32_t bits);

/// Writes the lists of a dense column and, if `params` ask for them, second codes and sign codes.
/// `start`: centroids to begin with, or empty. True if the lists began there.
Result<bool> write_lists(const RowSource& source, const ListsBuildParams& params,
                         std::span<const float> start, const BuildContext& context, Directory& out);

struct OpenLists {
  CandidateSearch candidates;
  std::uint64_t n_bytes = 0;  ///< mapped files
};

/// The dense column that files must belong to.
struct ListsColumn {
  const FieldSchema& schema;
  std::uint32_t n_rows = 0;
  std::uint32_t n_present = 0;
};

/// kDataLoss if the files are damaged or belong to another column.
[[nodiscard]] Result<OpenLists> open_lists(const Directory& directory, const ListsColumn& column);

}  // namespace quiver::index::dense

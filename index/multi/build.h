// From tokens to the files of an index, and back: docs/formats/multi.md.
#pragma once

#include "base/io/file.h"
#include "index/index.h"
#include "index/multi/params.h"
#include "index/multi/searcher.h"

namespace quiver::index::multi {

/// kInvalidArgument if values do not go together or are none that exist.
[[nodiscard]] Result<> check(const MultiBuildParams& params);

[[nodiscard]] Result<> build_files(const FieldColumn& column, const MultiBuildParams& params,
                                   const BuildContext& context, Directory& out);
/// kDataLoss if files are damaged or of another column.
[[nodiscard]] Result<MultiParts> open_files(const Directory& directory, const FieldColumn& column);

}  // namespace quiver::index::multi

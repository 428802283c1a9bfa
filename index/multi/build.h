// Building and opening the files of a multi-vector index: docs/formats/multi.md.
#pragma once

#include "base/io/file.h"
#include "index/index.h"
#include "index/multi/searcher.h"
#include "index/multi/stages/params.h"

namespace quiver::index::multi {

/// kInvalidArgument for unknown values and for values that contradict each other.
[[nodiscard]] Result<> check(const MultiBuildParams& params);

[[nodiscard]] Result<> build_files(const FieldColumn& column, const MultiBuildParams& params,
                                   const BuildContext& context, Directory& out);
/// kDataLoss if files are damaged or belong to another column.
[[nodiscard]] Result<MultiParts> open_files(const Directory& directory, const FieldColumn& column);

}  // namespace quiver::index::multi

// The transform of a dense index's rows: its choice, and its sections in files.
#pragma once

#include "base/io/section_file.h"
#include "base/result.h"
#include "index/dense/lists/params.h"
#include "index/dense/lists/row_transform.h"
#include "index/index.h"

namespace quiver::index::dense {

/// kInvalidArgument for an unknown `reduce`, and for `reduced_dims` that no index can have.
[[nodiscard]] Result<> check_reduction(const ListsBuildParams& params);

/// The transform for a column: a rotation, or a reduction if the parameters want one and the rows
/// allow it. `former`: that of an index of many of these rows, or nullptr; it is taken again if it
/// still fits.
[[nodiscard]] Result<RowTransform> choose_transform(const FieldColumn& column,
                                                    const ListsBuildParams& params,
                                                    const RowTransform* former,
                                                    const BuildContext& context);

/// Writes the sections of a reduction; nothing for a rotation.
void write_transform(const RowTransform& transform, SectionWriter& writer);
/// Of vectors of `dim` dimensions. kDataLoss if the reduction is damaged.
[[nodiscard]] Result<RowTransform> read_transform(const SectionReader& reader, std::uint32_t dim,
                                                  std::uint64_t seed);

}  // namespace quiver::index::dense

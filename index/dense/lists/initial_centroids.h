// Where lists start from when there is an older index of many of their rows. What they started from
// is kept beside them: an index that is damaged later is built again as it was.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "encoders/transforms/rotation.h"
#include "index/dense/lists/partition.h"

namespace quiver::index::dense {

/// The centroids of `older`, `[n, padded_dim]`; none if its rows were rotated otherwise.
[[nodiscard]] std::vector<float> start_of(const Partition& older,
                                          const encoders::Rotation& rotation);
Result<> write_start(std::span<const float> start, std::uint32_t n_rows, Directory& out);
/// What was written when the files of `former`, over as many rows, were built; none if there is
/// none that is whole. Other files may be damaged.
[[nodiscard]] std::vector<float> read_start(const Directory& former, std::uint32_t n_rows,
                                            const encoders::Rotation& rotation);

}  // namespace quiver::index::dense

// Initial centroids for k-means, taken from an older index of many of the same rows. They are
// stored beside the lists: a damaged index is then rebuilt to the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "encoders/transforms/rotation.h"
#include "index/dense/lists/partition.h"

namespace quiver::index::dense {

/// Centroids of `older`, `[n, padded_dim]`; empty if its rows were rotated otherwise.
[[nodiscard]] std::vector<float> start_of(const Partition& older,
                                          const encoders::Rotation& rotation);
Result<> write_start(std::span<const float> start, std::uint32_t n_rows, Directory& out);
/// Reads what `write_start` wrote to `former`, an index of `n_rows` rows whose other files may be
/// damaged. Empty if the file is missing or damaged.
[[nodiscard]] std::vector<float> read_start(const Directory& former, std::uint32_t n_rows,
                                            const encoders::Rotation& rotation);

}  // namespace quiver::index::dense

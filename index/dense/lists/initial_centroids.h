// What a build takes over from an older index of many of the same rows: its transform, and its
// centroids as the first ones of k-means. Both are stored beside the lists: a damaged index is then
// rebuilt to the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "index/dense/lists/partition.h"
#include "index/dense/lists/row_transform.h"

namespace quiver::index::dense {

struct Start {
  RowTransform transform;
  std::vector<float> centroids;  ///< `[n, transform.padded_dim()]`, finite; may be empty

  /// The centroids for rows that are transformed so; none if these were not.
  [[nodiscard]] std::span<const float> centroids_for(const RowTransform& rows) const {
    return rows == transform ? std::span<const float>(centroids) : std::span<const float>();
  }
};

[[nodiscard]] Start start_of(const Partition& older);
Result<> write_start(const RowTransform& transform, std::span<const float> centroids,
                     std::uint32_t n_rows, Directory& out);
/// Reads what `write_start` wrote to `former`, an index of `n_rows` rows of `dim` dimensions whose
/// other files may be damaged. nullopt if the file is missing or damaged.
[[nodiscard]] std::optional<Start> read_start(const Directory& former, std::uint32_t n_rows,
                                              std::uint32_t dim, std::uint64_t seed);

}  // namespace quiver::index::dense

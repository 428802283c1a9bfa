// How much memory a build of indexes takes, before it begins.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/indexing/indexes.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

/// Estimated private memory of the index of a field with so many rows, in bytes, without parts that
/// the build asks for itself: the graph of a dense index, the blocks of a sparse one. Rounded up
/// from measured peaks (docs/decisions/0066). `data_bytes`: of its vectors.
[[nodiscard]] std::uint64_t index_build_bytes(const FieldSchema& field, std::uint64_t n_rows,
                                              std::uint64_t data_bytes);
/// The same of `build_indexes`: as much as the largest of the missing indexes.
[[nodiscard]] std::uint64_t index_build_bytes(const SegmentData& data, const IndexPolicy& policy,
                                              std::optional<std::size_t> rebuilt_field);
/// Of a merge: its table of rows, columns of the payload, and the largest index of its output.
[[nodiscard]] std::uint64_t merge_bytes(const std::vector<Segment>& inputs);

}  // namespace quiver::engine

// The nearest neighbours of each row, found with the finished blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "index/index.h"
#include "index/sparse/blocks/blocks.h"

namespace quiver::index::sparse {

/// `[n_rows, n]`: rows with the largest inner product with each row, best first; the row itself
/// fills missing places. Each row is a query. Memory besides the result: 4 bytes per term and
/// thread.
[[nodiscard]] Result<std::vector<std::uint32_t>> find_neighbours(
    const Blocks& blocks, const SparseColumn& column, const TermMap& terms, const Records& records,
    std::uint32_t n, const BuildContext& context);

}  // namespace quiver::index::sparse

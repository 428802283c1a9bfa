// The nearest neighbours of each row, found with the finished blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "index/index.h"
#include "index/sparse/blocks/blocks.h"

namespace quiver::index::sparse {

/// `[n_rows, n]`: the rows of the largest inner products with each row, best first; the row itself
/// where fewer were found. Each row is a query; memory beside the result: 4 bytes a term for each
/// thread.
[[nodiscard]] Result<std::vector<std::uint32_t>> find_neighbours(
    const Blocks& blocks, const SparseColumn& column, const TermMap& terms, const Records& records,
    std::uint32_t n, const BuildContext& context);

}  // namespace quiver::index::sparse

// Static pruning: which postings are kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/sparse/blocks/block_params.h"
#include "index/sparse/rows/coded_rows.h"
#include "index/vector_column.h"

namespace quiver::index::sparse {

struct Posting {
  float value = 0;  ///< absolute value
  std::uint32_t row = 0;
};

/// One list per term, by falling value; ties by row.
struct PostingLists {
  std::vector<std::uint64_t> offsets;  ///< `[n_terms + 1]`
  std::vector<Posting> postings;

  [[nodiscard]] std::span<const Posting> list(std::uint32_t term) const {
    return std::span(postings).subspan(offsets[term], offsets[term + 1] - offsets[term]);
  }
};

/// Values kept by a global budget: all above `value`, and `n_kept` of the `n_equal` equal to it,
/// spread evenly in column order.
struct ValueThreshold {
  float value = 0;
  std::uint64_t n_kept = 0;
  std::uint64_t n_equal = 0;
};

/// The threshold that keeps exactly the `budget` largest magnitudes; `budget` < number of values.
/// Uses two histograms over halves of the bit patterns, which order like the numbers.
[[nodiscard]] ValueThreshold threshold_for(std::span<const float> values, std::uint64_t budget);

/// Prunes as `params` says. `rows`: the rows of `column`, for term numbers. Memory: 8 bytes per
/// posting above the global threshold (other prunings: per non-zero).
[[nodiscard]] PostingLists prune(const SparseColumn& column, const CodedRows& rows,
                                 const BlockParams& params);

}  // namespace quiver::index::sparse

// Static pruning: which postings of the inverted lists are kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/sparse/blocks/block_params.h"
#include "index/sparse/rows/coded_rows.h"
#include "index/vector_column.h"

namespace quiver::index::sparse {

struct Posting {
  float value = 0;  ///< absolute
  std::uint32_t row = 0;
};

/// One list a term, values descending, ties by row.
struct PostingLists {
  std::vector<std::uint64_t> offsets;  ///< `[n_terms + 1]`
  std::vector<Posting> postings;

  [[nodiscard]] std::span<const Posting> list(std::uint32_t term) const {
    return std::span(postings).subspan(offsets[term], offsets[term + 1] - offsets[term]);
  }
};

/// The values that a global budget keeps: all above `value`, and of those equal to it `n_kept` in
/// `n_equal`, spread evenly in the order of the column.
struct ValueThreshold {
  float value = 0;
  std::uint64_t n_kept = 0;
  std::uint64_t n_equal = 0;
};

/// The threshold that keeps exactly the `budget` values of the largest magnitude; `budget` is less
/// than their number. Two histograms over halves of the bit patterns, which have the order of the
/// numbers.
[[nodiscard]] ValueThreshold threshold_for(std::span<const float> values, std::uint64_t budget);

/// As `params` says. `rows`: the same rows as `column`, for their term numbers. 8 bytes for each
/// posting that passes the global threshold (each non-zero with the other prunings).
[[nodiscard]] PostingLists prune(const SparseColumn& column, const CodedRows& rows,
                                 const BlockParams& params);

}  // namespace quiver::index::sparse

// What tests of inverted lists share: columns, and the postings of a term by the definition.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "index/sparse/rows/terms.h"
#include "tests/index/support.h"

namespace quiver::index::sparse::testing {

inline constexpr std::uint64_t kImpactSeed = 124;

/// Rows of a few of `dim` components, of values of both signs.
[[nodiscard]] inline FieldColumn impact_column(std::uint32_t n_rows, std::uint32_t dim,
                                               quiver::index::testing::Random& random) {
  const FieldSchema field{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};
  return quiver::index::testing::random_column(
      field, {.n_rows = n_rows, .present_share = 0.9, .sparse_dim = dim, .max_nonzero = 8}, random);
}

/// Rows of `[first, first + n)` that hold a term, by their numbers within that range, and the
/// magnitudes of their values.
[[nodiscard]] inline std::map<std::uint32_t, float> postings_of(const SparseColumn& column,
                                                                std::uint32_t first,
                                                                std::uint32_t n, TermMap::Key key) {
  std::map<std::uint32_t, float> postings;
  for (std::uint32_t row = 0; row < n; ++row) {
    const SparseView view = column.row(first + row);
    for (std::size_t i = 0; i < view.indices.size(); ++i) {
      if (TermMap::key_of(view.indices[i], view.values[i]) != key) continue;
      postings[row] = std::abs(view.values[i]);
    }
  }
  return postings;
}

}  // namespace quiver::index::sparse::testing

// Products of matrices of f64, as far as matrices are factorized.
#pragma once

#include <cstddef>

namespace quiver {

/// The numbers k of `n` vectors lie together: value k of vector i is `values[k * stride + i]`.
struct ValuesByPlace {
  const double* values;
  std::size_t stride;
  std::size_t n;
};

/// Exact: the products of an element are added in the order of k, each rounded.
struct ProductKernels {
  /// Adds `factor` (1 or -1) times the products of the vectors of `a` and `b`, of `depth` numbers,
  /// to `out`, where the element (i, j) is `out[i * out_stride + j]`, i < a.n and j < b.n.
  void (*add)(const ValuesByPlace& a, const ValuesByPlace& b, std::size_t depth, double factor,
              double* out, std::size_t out_stride);
};

}  // namespace quiver

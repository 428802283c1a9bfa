#pragma once

#include <cstdint>
#include <vector>

namespace quiver::encodings {

/// A very sparse random projection (Li, Hastie, Church, KDD 2006). With s = sqrt(dim), an entry of
/// the matrix is +sqrt(s / out_dim) or -sqrt(s / out_dim) with probability 1 / (2 s) each, else 0.
/// Scalar products and distances are unbiased, with errors of about 1 / sqrt(out_dim) of the
/// lengths. Needs no training. A seed always gives the same matrix. Thread-safe.
class SparseProjection {
 public:
  SparseProjection(std::uint32_t dim, std::uint32_t out_dim, std::uint64_t seed);

  [[nodiscard]] std::uint32_t dim() const { return dim_; }
  [[nodiscard]] std::uint32_t out_dim() const {
    return static_cast<std::uint32_t>(offsets_.size() - 1);
  }
  /// `in` is `[dim]`, `out` `[out_dim]`.
  void apply(const float* in, float* out) const;

 private:
  std::uint32_t dim_;
  float factor_;
  std::vector<std::uint32_t> offsets_;  ///< `[out_dim + 1]`: rows of the matrix in `entries_`
  std::vector<std::uint32_t> entries_;  ///< 2 * dimension + (1 if negative), ascending in a row
};

}  // namespace quiver::encodings

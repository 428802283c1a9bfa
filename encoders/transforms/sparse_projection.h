#pragma once

#include <cstdint>
#include <vector>

namespace quiver::encoders {

/// A very sparse random projection (Li, Hastie, Church, KDD 2006): coordinates of the matrix are
/// +-sqrt(s / out_dim) with a chance of 1 / (2 s) each and else 0, s = sqrt(dim). Scalar products
/// and distances are kept on the average, with errors of about 1 / sqrt(out_dim) of the lengths.
/// Needs no training. One seed is one matrix for good. Thread-safe.
class SparseProjection {
 public:
  static constexpr std::uint32_t kVersion = 1;

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
  std::vector<std::uint32_t> offsets_;  ///< `[out_dim + 1]`, into the rows of the matrix
  std::vector<std::uint32_t> entries_;  ///< 2 * dimension + (1 if negative), ascending in a row
};

}  // namespace quiver::encoders

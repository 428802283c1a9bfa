#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace quiver::encoders {

/// Mean and principal directions of a sample. The directions are the orthonormal basis whose first
/// d coordinates keep as much of the variance as any d can. The same sample gives the same bits.
/// Thread-safe once made.
class Pca {
 public:
  /// Covariances take dim^2 numbers, directions dim^3 work.
  static constexpr std::uint32_t kMaxDim = 8192;

  /// `rows` is `[n_rows, dim]`; a few times `dim` rows are enough. 20,000 x 784 values take about a
  /// second. Fails (kInvalidArgument) without rows, with values that are not finite, and beyond
  /// `kMaxDim`.
  static Result<Pca> train(std::span<const float> rows, std::uint32_t dim);

  [[nodiscard]] std::uint32_t dim() const { return dim_; }
  /// `[dim]`.
  [[nodiscard]] std::span<const float> mean() const { return mean_; }
  /// `[dim, dim]`, unit vectors by descending variance.
  [[nodiscard]] std::span<const float> directions() const { return directions_; }
  /// `[dim]`: variance of the sample along each direction, descending, >= 0.
  [[nodiscard]] std::span<const float> variances() const { return variances_; }

  /// Leading coordinates of `in - mean`; `in` is `[dim]`, `out` `[n_out]`, n_out <= dim.
  void project(const float* in, std::uint32_t n_out, float* out) const;
  /// Leading coordinates of `in` itself, for queries of scalar products: <q, x> is <q, mean> plus
  /// the product of turn(q) and project(x), except for the directions left out.
  void turn(const float* in, std::uint32_t n_out, float* out) const;

 private:
  std::uint32_t dim_ = 0;
  std::vector<float> mean_;
  std::vector<float> directions_;
  std::vector<float> variances_;
  std::vector<float> turned_mean_;  ///< `[dim]`
};

}  // namespace quiver::encoders

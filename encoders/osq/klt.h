// The Karhunen-Loève transform (KLT) of a set of rows: its mean and principal directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace quiver::encoders::osq {

/// y = W (x - mean). Row i of W is the i-th principal direction, so the coordinates of the rows
/// have descending variances and no covariance.
struct Klt {
  std::uint32_t dim = 0;
  std::vector<float> mean;        ///< `[dim]`
  std::vector<float> directions;  ///< W, `[n_out(), dim]`, orthonormal
  std::vector<double> variances;  ///< `[n_out()]`, descending, > 0

  [[nodiscard]] std::uint32_t n_out() const { return static_cast<std::uint32_t>(variances.size()); }
};

/// `rows` is `[n_rows, dim]`, n_rows >= 1. Directions along which the rows hardly vary are left
/// out, so there are fewer than `n_rows`, and none for equal rows. The same rows give the same
/// bits. kInvalidArgument for values that are not finite and beyond `Pca::kMaxDim`. Time: dim^2
/// n_rows + dim^3, for fewer rows than dimensions n_rows^2 dim + n_rows^3.
[[nodiscard]] Result<Klt> train_klt(std::span<const float> rows, std::uint32_t dim);

/// Borrowed parts of a `Klt`.
struct KltView {
  std::uint32_t dim = 0;
  std::uint32_t n_out = 0;
  const float* mean = nullptr;
  const float* directions = nullptr;
};
[[nodiscard]] KltView view_of(const Klt& klt);

/// W x. `x` is `[dim]`, `out` `[n_out]`.
void turn(const KltView& klt, const float* x, float* out);
/// W (x - mean). `centred`, `[dim]`, receives x - mean.
void project(const KltView& klt, const float* x, float* centred, float* out);

}  // namespace quiver::encoders::osq

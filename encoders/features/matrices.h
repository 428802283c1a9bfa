// Products of large matrices by our kernels, and their memory as Eigen matrices.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quiver::encoders {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Prepares `rows` `[n, dim]` by `MaxSimKernels::prepare`.
[[nodiscard]] std::vector<float> prepared(std::span<const float> rows, std::size_t n);
/// Transposes `rows` `[n, dim]` to `[dim, n]`.
[[nodiscard]] std::vector<float> transposed(std::span<const float> rows, std::size_t n);
/// Adds the lower triangle of the scalar products of all pairs of `rows` `[n, dim]` to `out`
/// `[n, n]`.
void add_products_of_pairs(std::span<const float> rows, std::size_t n, RowMajor& out);
/// Scalar products `[n_rows, n_others]` of `rows` `[n_rows, dim]` and `others` `[n_others, dim]`.
[[nodiscard]] RowMajor products(std::span<const float> rows, std::size_t n_rows,
                                std::span<const float> others, std::size_t n_others);

}  // namespace quiver::encoders

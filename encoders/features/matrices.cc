#include "encoders/features/matrices.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

/// Columns of a symmetric product per kernel call: those of one tile.
constexpr std::size_t kColumns = 32;
/// Dimensions per kernel call: 32 rows of them (128 KiB) stay in L2.
constexpr std::size_t kDimsPerCall = 1024;

}  // namespace

std::vector<float> prepared(std::span<const float> rows, std::size_t n) {
  const auto dim = static_cast<std::uint32_t>(rows.size() / n);
  std::vector<float> blocks(MaxSimKernels::prepared_floats(n, dim));
  kernels().maxsim_family.prepare(rows.data(), n, dim, dim, blocks.data());
  return blocks;
}

std::vector<float> transposed(std::span<const float> rows, std::size_t n) {
  const std::size_t dim = rows.size() / n;
  std::vector<float> columns(rows.size());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t d = 0; d < dim; ++d) columns[d * n + i] = rows[i * dim + d];
  }
  return columns;
}

void add_products_of_pairs(std::span<const float> rows, std::size_t n, RowMajor& out) {
  const auto dim = static_cast<std::uint32_t>(rows.size() / n);
  const std::vector<float> blocks = prepared(rows, n);
  for (std::size_t column = 0; column < n; column += kColumns) {
    kernels().maxsim_family.add_products(
        blocks.data() + column * dim, std::min(kColumns, n - column), dim,
        rows.data() + column * dim, dim, n - column, out.data() + column * n + column, n);
  }
}

RowMajor products(std::span<const float> rows, std::size_t n_rows, std::span<const float> others,
                  std::size_t n_others) {
  RowMajor out =
      RowMajor::Zero(static_cast<Eigen::Index>(n_rows), static_cast<Eigen::Index>(n_others));
  const std::size_t dim = rows.size() / n_rows;
  for (std::size_t first = 0; first < dim; first += kDimsPerCall) {
    const std::size_t n = std::min(kDimsPerCall, dim - first);
    std::vector<float> blocks(
        MaxSimKernels::prepared_floats(n_others, static_cast<std::uint32_t>(n)));
    kernels().maxsim_family.prepare(others.data() + first, n_others, static_cast<std::uint32_t>(n),
                                    dim, blocks.data());
    kernels().maxsim_family.add_products(blocks.data(), n_others, static_cast<std::uint32_t>(n),
                                         rows.data() + first, dim, n_rows, out.data(), n_others);
  }
  return out;
}

}  // namespace quiver::encoders

// Reduces vectors of random features to the dimensions in which documents differ most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quiver::encoders {

/// Orthonormal directions in which rows vary most around their mean: nearly their first principal
/// components.
struct PrincipalSpace {
  std::vector<float> basis;  ///< `[n_dims, dim]`
  std::vector<float>
      variances;  ///< `[n_dims]`, variance of the rows along each, times their number
};

/// Principal space of `rows` `[n, dim]`, `n_dims` <= `dim`, by subspace iteration (Halko,
/// Martinsson, Tropp, SIAM Review 2011, algorithm 4.4). Deterministic on an instruction level.
[[nodiscard]] PrincipalSpace principal_space(std::span<const float> rows, std::size_t n,
                                             std::uint32_t n_dims);

}  // namespace quiver::encoders

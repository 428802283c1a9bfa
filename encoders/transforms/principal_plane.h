#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace quiver::encoders {

/// The plane in which rows differ most: their first two principal directions, for pictures. `Pca`
/// has all directions, for dim^3 work. Thread-safe once made.
class PrincipalPlane {
 public:
  /// `rows` is `[n_rows, dim]`. Takes a copy of the rows and 200 n_rows dim multiplications. The
  /// same rows give the same bits. kInvalidArgument without rows, or with values that are not
  /// finite.
  [[nodiscard]] static Result<PrincipalPlane> fit(std::span<const float> rows, std::uint32_t dim);

  /// Coordinates of a row of `dim` values.
  [[nodiscard]] std::array<float, 2> project(std::span<const float> row) const;
  /// Share of the variance of the fitted rows along each direction, 0 to 1, descending.
  [[nodiscard]] std::array<float, 2> shares() const { return shares_; }

 private:
  std::vector<float> directions_;  ///< `[2, dim]`; 0 where rows do not differ
  std::array<float, 2> projected_mean_{};
  std::array<float, 2> shares_{};
};

}  // namespace quiver::encoders

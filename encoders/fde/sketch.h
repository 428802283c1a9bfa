#pragma once

#include <cstdint>
#include <vector>

#include "encoders/fde/random.h"
#include "kernels/kernels.h"

namespace quiver::encoders::fde {

/// A random projection with one +1 or -1 a coordinate (a count sketch), which keeps scalar products
/// on the average, with a variance of (|x|^2 |y|^2 + <x, y>^2 - 2 sum x_i^2 y_i^2) / out_dim at
/// most, as a dense matrix of signs does that costs out_dim times as much. Here it is balanced: of
/// each `out_dim` coordinates in a row, no two are added to the same one. Coordinates move by lines
/// of 16, to a random line and to random places there. Thread-safe.
class BalancedSketch {
 public:
  /// Of `n_lines` lines of 16. `out_dim` is 1, 2, 4, 8 or a multiple of 16.
  BalancedSketch(std::size_t n_lines, std::uint32_t out_dim, Random random);

  [[nodiscard]] std::uint32_t out_dim() const { return out_dim_; }
  /// `in` is `[rows.n, n_lines, 16]`. Row i, times `rows.factors[i]`, is added to `out_dim` values,
  /// the `rows.places[i]`-th of `rows.out`.
  void add_rows(const float* in, const SketchRows& rows) const;
  /// Of one row, lines `[first, first + n)`; `out_dim` is a multiple of 16, and so long is `out`.
  void add_lines(const float* in, std::size_t first, std::size_t n, float* out) const;

 private:
  void draw_line(std::size_t line, Random& random);
  [[nodiscard]] LineSketch lines(std::size_t first, std::size_t n) const;

  std::uint32_t out_dim_;
  std::size_t n_slots_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint8_t> lanes_;
  std::vector<std::uint16_t> signs_;
};

}  // namespace quiver::encoders::fde

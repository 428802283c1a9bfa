#pragma once

#include <cstdint>
#include <vector>

#include "encoders/fde/random.h"
#include "kernels/kernels.h"

namespace quiver::encoders::fde {

/// Count sketch: a random projection that adds each coordinate, or its negative, to one output.
/// Scalar products are unbiased, with a variance of at most
/// (|x|^2 |y|^2 + <x, y>^2 - 2 sum x_i^2 y_i^2) / out_dim. That is the variance of a dense matrix
/// of signs, which costs out_dim times as much. This sketch is balanced: of `out_dim` consecutive
/// coordinates, no two are added to the same output. Coordinates move in lines of 16, to a random
/// line and to random places in it. Thread-safe.
class BalancedSketch {
 public:
  /// The input has `n_lines` lines of 16. `out_dim` is 1, 2, 4, 8 or a multiple of 16.
  BalancedSketch(std::size_t n_lines, std::uint32_t out_dim, CounterRandom random);

  [[nodiscard]] std::uint32_t out_dim() const { return out_dim_; }
  /// `in` is `[rows.n, n_lines, 16]`. Row i, times `rows.factors[i]`, is added to `out_dim` values,
  /// the `rows.places[i]`-th of `rows.out`.
  void add_rows(const float* in, const SketchRows& rows) const;
  /// Adds lines `[first, first + n)` of one row to `out`, `[out_dim]`; `out_dim` is a multiple
  /// of 16.
  void add_lines(const float* in, std::size_t first, std::size_t n, float* out) const;

 private:
  void draw_line(std::size_t line, CounterRandom& random);
  [[nodiscard]] LineSketch lines(std::size_t first, std::size_t n) const;

  std::uint32_t out_dim_;
  std::size_t n_slots_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint8_t> lanes_;
  std::vector<std::uint16_t> signs_;
};

}  // namespace quiver::encoders::fde

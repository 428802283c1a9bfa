// Steps of fixed-size vectors of token sets (encoders/fde).
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// Planes through the origin. `planes` is `[n_words, n_steps, 16, 4]` u8: for each of 16 planes,
/// four whole numbers a step, plus 128.
struct SignPlanes {
  const std::uint8_t* planes = nullptr;
  std::uint32_t n_words = 0;
  std::uint32_t n_steps = 0;  ///< <= 16,384
};

/// Tokens `ids[first]`, `ids[first + 1]`, ... of a set, `n` >= 1 of them.
struct TokenRange {
  std::uint32_t first = 0;
  std::uint32_t n = 0;
};

/// A count sketch of lines of 16 values. Value `lanes[i][j]` of line i, negated if bit j of
/// `signs[i]` is set, is added to value j of line `slots[i]` of the output.
struct LineSketch {
  const std::uint32_t* slots = nullptr;  ///< `[n_lines]`, below n_slots
  const std::uint8_t* lanes = nullptr;   ///< `[n_lines, 16]`, below 16
  const std::uint16_t* signs = nullptr;  ///< `[n_lines]`
  std::size_t n_lines = 0;
  std::size_t n_slots = 0;
};

/// Destinations of rows. Row i, times `factors[i]`, is added to the `places[i]`-th block of
/// `[n_slots, 16]` values in `out`. Places differ.
struct SketchRows {
  const std::uint32_t* places = nullptr;
  const float* factors = nullptr;
  std::size_t n = 0;
  float* out = nullptr;
};

/// Exact.
struct SetKernels {
  /// `tokens` is `[n, 4 * n_steps]` i8, `sums[i]` the sum of token i. Sets bit p of
  /// `words[i * n_words + w]` if the product of token i and plane 16 w + p is greater than 0.
  void (*sign_words)(const SignPlanes& planes, const std::int8_t* tokens, const std::int32_t* sums,
                     std::size_t n, std::uint16_t* words);
  /// `tokens` is `[.., n_lines, 16]`. Writes the sum of each range's tokens, added in order, to
  /// `sums` `[n_ranges, n_lines, 16]` and its squared length to `squares` `[n_ranges]`.
  void (*pool)(const float* tokens, std::size_t n_lines, const std::uint32_t* ids,
               const TokenRange* ranges, std::size_t n_ranges, float* sums, float* squares);
  /// `in` is `[rows.n, n_lines, 16]`.
  void (*sketch)(const LineSketch& sketch, const float* in, const SketchRows& rows);
};

}  // namespace quiver

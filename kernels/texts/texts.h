// Scores of texts by BM25: what rows gain from one token.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// The parts of BM25 that are the same for all rows of a token.
struct TokenGain {
  float weight;       ///< the gain of a row with infinitely many occurrences
  float at_length_0;  ///< k * (1 - b)
  float per_token;    ///< k * b / mean length
};

/// Exact.
struct TextKernels {
  static constexpr std::uint32_t kWindow = 4096;  ///< rows whose sums are kept together
  /// This count stands for any larger one, too: the gain is `weight`.
  static constexpr std::uint8_t kManyTimes = 255;

  /// Adds `weight * tf / (tf + (at_length_0 + per_token * lengths[row]))` to
  /// `sums[(row - first_row) % kWindow]` for each of `n` ascending rows; `tf`: its count. Stops at
  /// the first row that is not below `end_row`. Returns the number of rows before it.
  std::size_t (*add_gains)(const std::uint32_t* rows, const std::uint8_t* counts, std::size_t n,
                           std::uint32_t first_row, std::uint32_t end_row,
                           const std::uint32_t* lengths, const TokenGain& gain, float* sums);
  /// The largest gain among `n` pairs of a count and a length; 0 if there are none.
  float (*largest_gain)(const std::uint8_t* counts, const std::uint32_t* lengths, std::size_t n,
                        const TokenGain& gain);
};

}  // namespace quiver

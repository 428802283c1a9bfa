// Parameters of fixed-dimensional encodings of token sets.
#pragma once

#include <cstdint>

#include "base/params.h"

namespace quiver::encoders {

struct FdeParams {
  /// Independent partitions of space, each with blocks of its own; `R_reps` in the paper. Scores'
  /// errors fall with its root; dimensions, memory and time grow with it.
  std::uint32_t repetitions = 20;
  /// Planes a repetition, which make 2^planes buckets; `k_sim` in the paper. More of them tell
  /// tokens apart better, until buckets outnumber the tokens of a document.
  std::uint32_t planes = 5;
  /// Dimensions that each bucket's block of a vector has; `d_proj` in the paper. 1, 2, 4, 8 or a
  /// multiple of 16, at most the tokens' dimension; 0: the tokens' own, without a projection.
  std::uint32_t projected_dim = 16;
  /// An empty bucket of a document has the token that is nearest by the number of planes in
  /// between; without, it is zero. Documents with fewer tokens than buckets need it.
  bool fill = true;
  /// How far the mean of a bucket's tokens is made as long as they are, from 0 (not at all, as in
  /// the paper) to 1. Means of many tokens are short, which puts long documents behind short ones.
  double renormalize = 1;
  /// Dimensions of the whole after a last projection, a multiple of 16; 0: without. Better than
  /// fewer repetitions at the same size, and dearer to encode.
  std::uint32_t final_dim = 0;
  /// Of planes and projections. Vectors of different seeds have nothing to do with each other.
  std::uint64_t seed = 1;

  bool operator==(const FdeParams&) const = default;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("repetitions", &FdeParams::repetitions, {.min = 1, .max = 64}));
    v(field("planes", &FdeParams::planes, {.min = 0, .max = 10}));
    v(field("projected_dim", &FdeParams::projected_dim, {.min = 0, .max = 65536}));
    v(field("fill", &FdeParams::fill));
    v(field("renormalize", &FdeParams::renormalize, {.min = 0, .max = 1}));
    v(field("final_dim", &FdeParams::final_dim, {.min = 0, .max = 1 << 20}));
    v(field("seed", &FdeParams::seed, {.min = 0}));
  }
};

/// For documents of which half have at most `median_tokens` tokens: as many repetitions as the
/// paper's best points (section 3.1), and between half as many buckets as tokens and as many, at
/// least 8 and at most 64.
[[nodiscard]] FdeParams fde_params_for(std::uint32_t token_dim, double median_tokens);

}  // namespace quiver::encoders

// Parameters of fixed-dimensional encodings of token sets.
#pragma once

#include <cstdint>

#include "base/params.h"

namespace quiver::encoders {

struct FdeParams {
  /// Independent partitions of space, each with its own blocks; `R_reps` in the paper. Errors of
  /// scores fall with its square root; dimensions, memory and time grow with it.
  std::uint32_t repetitions = 20;
  /// Planes per repetition, which make 2^planes buckets; `k_sim` in the paper. More planes separate
  /// tokens better, until buckets outnumber the tokens of a document.
  std::uint32_t planes = 5;
  /// Dimensions of a bucket's block; `d_proj` in the paper. 1, 2, 4, 8 or a multiple of 16, at most
  /// the tokens' dimension; 0: the tokens' dimension, without a projection.
  std::uint32_t projected_dim = 16;
  /// True: an empty bucket of a document gets the token with the fewest planes in between; false:
  /// it is zero. Documents with fewer tokens than buckets need it.
  bool fill = true;
  /// Lengthens the mean of a bucket's tokens, from 0 (not at all, as in the paper) to 1 (to the
  /// tokens' length). Means of many tokens are short, which ranks long documents behind short ones.
  double renormalize = 1;
  /// Dimensions of the whole vector after a last projection, a multiple of 16; 0: no projection.
  /// Better than fewer repetitions at the same size, but slower to encode.
  std::uint32_t final_dim = 0;
  /// Seed of planes and projections. Vectors of different seeds must not be compared.
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

/// Parameters for documents with a median of `median_tokens` tokens. Repetitions are those of the
/// paper's best points (section 3.1). Buckets are the largest power of two up to the median, within
/// [8, 64].
[[nodiscard]] FdeParams fde_params_for(std::uint32_t token_dim, double median_tokens);

}  // namespace quiver::encoders

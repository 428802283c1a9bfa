// Random features of tokens, after the untrained variant of LEMUR (Jääsaari and others, ICML 2026).
// Its one layer is GELU(LayerNorm(A x)) with a random matrix A. Functions that are linear in enough
// such features approximate the MaxSim of one query token, max_p <x, p>.
//
// Differences to the paper: A is a stack of random rotations, not Gaussian (orthogonal random
// features: Yu and others, NeurIPS 2016). Recall is the same for a sixth of the work. A token's
// length multiplies its features, as it multiplies the maximum.
#pragma once

#include <cstdint>
#include <vector>

#include "encoders/set_encoder.h"
#include "encoders/transforms/rotation.h"

namespace quiver::encoders {

/// Recreated from its three numbers, with the same bits on every instruction level. Immutable and
/// thread-safe.
class RandomFeatures {
 public:
  /// Version of the map from seed to features. An index that stores a seed stores this, too.
  static constexpr std::uint32_t kVersion = 1;

  RandomFeatures(std::uint32_t token_dim, std::uint32_t n_features, std::uint64_t seed);

  [[nodiscard]] std::uint32_t token_dim() const { return token_dim_; }
  [[nodiscard]] std::uint32_t n_features() const { return n_features_; }

  /// Writes the sum of the tokens' features, `[n_features()]`. The features of x are
  /// `|x| sqrt(2 / n_features()) GELU(LayerNorm(A x))`. LayerNorm scales to mean 0 and variance 1.
  /// The features of a zero token are zero.
  void sum(const TokenSet& tokens, float* out) const;

 private:
  /// Writes the coordinates under all rotations, `[room()]`; the last rotation may exceed
  /// `n_features_`.
  void rotate(const float* unit, float* out) const;
  [[nodiscard]] std::size_t room() const;

  std::uint32_t token_dim_;
  std::uint32_t n_features_;
  std::vector<Rotation> rotations_;
};

}  // namespace quiver::encoders

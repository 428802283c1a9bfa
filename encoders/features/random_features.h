// Random features of tokens, after the untrained variant of LEMUR (Jääsaari and others, ICML 2026),
// whose one layer is GELU(LayerNorm(A x)) with a random A: functions that are linear in enough such
// features come near what MaxSim makes of one query token, max_p <x, p>.
//
// Where we differ: A is not Gaussian but some random rotations one below the other (orthogonal
// random features: Yu and others, NeurIPS 2016), which find as much and take a sixth of the work;
// and a token's length multiplies its features, as it does the maximum.
#pragma once

#include <cstdint>
#include <vector>

#include "encoders/set_encoder.h"
#include "encoders/transforms/rotation.h"

namespace quiver::encoders {

/// Rebuilt from its numbers: the same bits on every instruction level. Immutable and
/// thread-safe.
class RandomFeatures {
 public:
  /// Of the map that a seed means; an index that stores a seed stores this, too.
  static constexpr std::uint32_t kVersion = 1;

  RandomFeatures(std::uint32_t token_dim, std::uint32_t n_features, std::uint64_t seed);

  [[nodiscard]] std::uint32_t token_dim() const { return token_dim_; }
  [[nodiscard]] std::uint32_t n_features() const { return n_features_; }

  /// The sum of the tokens' features, `[n_features()]`. Those of x are
  /// `|x| sqrt(2 / n_features()) GELU(LayerNorm(A x))`, where LayerNorm takes mean 0 and variance 1
  /// and learns nothing. Of zero they are zero.
  void sum(const TokenSet& tokens, float* out) const;

 private:
  /// `[room()]`: the coordinates under all rotations, more than `n_features_` where the last one
  /// has some to spare.
  void rotate(const float* unit, float* out) const;
  [[nodiscard]] std::size_t room() const;

  std::uint32_t token_dim_;
  std::uint32_t n_features_;
  std::vector<Rotation> rotations_;
};

}  // namespace quiver::encoders

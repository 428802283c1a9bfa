#pragma once

#include <cstdint>
#include <vector>

namespace quiver::encoders {

/// A random orthonormal map, recreated from its dimension, a seed and the version below. Unlike
/// Rotation it adds no dimensions, so its inverse loses nothing. Steps are those of Rotation:
/// random signs, then a fast Hadamard transform over the largest power of two that fits, of the
/// first or the last dimensions, or a butterfly of the two halves.
///
/// Keeps scalar products and distances, up to rounding. All instruction levels give the same bits.
/// Thread-safe.
class SquareRotation {
 public:
  /// Version of the generator of signs and of the order of steps: rows on disk depend on them.
  static constexpr std::uint32_t kVersion = 1;

  /// `dim` >= 1.
  SquareRotation(std::uint32_t dim, std::uint64_t seed);

  [[nodiscard]] std::uint32_t dim() const { return dim_; }
  /// `in` and `out` are `[dim]`, at any alignment; they are equal or do not overlap.
  void apply(const float* in, float* out) const;
  /// Inverse of `apply`. Sums of up to `dim` values must not overflow.
  void apply_inverse(const float* in, float* out) const;

 private:
  enum class Kind : std::uint8_t { kFirst, kLast, kHalves };
  [[nodiscard]] Kind kind(std::uint32_t step) const;
  /// Random signs and the factor that makes the step orthonormal.
  void flip(std::uint32_t step, float* values) const;
  void mix(std::uint32_t step, float* values) const;

  std::uint32_t dim_;
  std::uint32_t power_;  ///< largest power of two <= dim
  std::uint32_t n_steps_;
  std::uint32_t words_;               ///< words of signs of a step
  std::vector<std::uint32_t> signs_;  ///< `[n_steps, words]`
};

}  // namespace quiver::encoders

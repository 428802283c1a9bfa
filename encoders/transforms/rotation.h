#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quiver::encoders {

/// A random orthonormal map, recreated from its seed and the version below. The vector is extended
/// with zeros. Each step applies random signs, then a fast Hadamard transform over the largest
/// power of two that fits, or a butterfly of the two halves. Transforms alternate between the first
/// and the last dimensions. Then the coordinates of any vector look like draws from one normal
/// distribution, which codes of few bits need.
///
/// Keeps scalar products and distances, up to rounding. All instruction levels give the same bits.
/// Thread-safe.
class Rotation {
 public:
  /// Version of the generator of signs and of the order of steps. A version and a seed always give
  /// the same map.
  static constexpr std::uint32_t kVersion = 1;

  Rotation(std::uint32_t dim, std::uint64_t seed);

  [[nodiscard]] std::uint32_t dim() const { return dim_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// `dim` rounded up to a multiple of 32, at least 64.
  [[nodiscard]] std::uint32_t padded_dim() const { return padded_dim_; }

  /// `in` is `[dim]`, `out` `[padded_dim]`, at any alignment (64 bytes is a quarter faster); they
  /// do not overlap.
  void apply(const float* in, float* out) const;
  /// Inverse of `apply`: `in` is `[padded_dim]`, `out` `[dim]`. Parts of `in` outside the image of
  /// `apply` are dropped.
  void apply_inverse(const float* in, float* out) const;

 private:
  /// Signs and a factor, then a transform of the dimensions `[begin, end)` or a butterfly. The
  /// factor comes first, so that no value is ever larger than the length of the vector.
  struct Step {
    const std::uint32_t* signs = nullptr;
    float factor = 1;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool is_butterfly = false;
  };
  [[nodiscard]] Step step(std::uint32_t number) const;
  void flip(const Step& step, float* values) const;
  void mix(const Step& step, float* values) const;

  std::uint32_t dim_;
  std::uint64_t seed_;
  std::uint32_t padded_dim_;
  std::uint32_t power_;  ///< largest power of two <= padded_dim
  std::uint32_t n_steps_;
  std::vector<std::uint32_t> signs_;  ///< `[n_steps, padded_dim / 32]`
};

}  // namespace quiver::encoders

// Ball carving of query tokens (Dhulipala et al., MUVERA, 2024, section 3.2): tokens close together
// are replaced by their sum. As max <sum q, p> <= sum max <q, p>, the score of a carved query never
// exceeds that of the query.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quiver::index::multi {

/// Reuses its memory; one thread.
class BallCarving {
 public:
  /// Takes the first remaining token and all others whose cosine to it is at least `threshold`, and
  /// so on. Returns the sums, `[n, dim]`, in the order of their first tokens, valid until the next
  /// call. With `threshold` >= 1 returns `tokens`. In the paper, tokens have unit length; a
  /// threshold of .7 reduced 32 tokens to 5.9.
  [[nodiscard]] std::span<const float> carve(std::span<const float> tokens, std::uint32_t dim,
                                             float threshold);

 private:
  void take(std::span<const float> tokens, std::uint32_t dim, float threshold, std::size_t first);

  std::vector<double> lengths_;
  std::vector<float> products_;
  std::vector<std::uint8_t> taken_;
  std::vector<float> sums_;
};

}  // namespace quiver::index::multi

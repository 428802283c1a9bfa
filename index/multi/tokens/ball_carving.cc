#include "index/multi/tokens/ball_carving.h"

#include "kernels/kernels.h"

namespace quiver::index::multi {

std::span<const float> BallCarving::carve(std::span<const float> tokens, std::uint32_t dim,
                                          float threshold) {
  if (threshold >= 1) return tokens;
  const std::size_t n = tokens.size() / dim;
  lengths_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    lengths_[i] = kernels().convert.norm(tokens.data() + i * dim, dim);
  }
  taken_.assign(n, 0);
  products_.resize(n);
  sums_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    if (taken_[i] == 0) take(tokens, dim, threshold, i);
  }
  return sums_;
}

/// Appends the sum of token `first` and the later tokens near it that are left.
void BallCarving::take(std::span<const float> tokens, std::uint32_t dim, float threshold,
                       std::size_t first) {
  const float* centre = tokens.data() + first * dim;
  const std::size_t n = lengths_.size() - first;
  kernels()
      .dense(Similarity::kDot, DType::kF32)
      .many(centre, dim, reinterpret_cast<const std::byte*>(centre), dim * sizeof(float), n,
            products_.data());
  sums_.insert(sums_.end(), centre, centre + dim);
  float* sum = sums_.data() + sums_.size() - dim;
  for (std::size_t i = 1; i < n; ++i) {
    const double least = threshold * lengths_[first] * lengths_[first + i];
    // At -1 all tokens are near, whatever rounding says.
    const bool is_close = threshold <= -1 || products_[i] >= least;
    if (taken_[first + i] != 0 || !is_close) continue;
    taken_[first + i] = 1;
    for (std::uint32_t d = 0; d < dim; ++d) sum[d] += centre[i * dim + d];
  }
}

}  // namespace quiver::index::multi

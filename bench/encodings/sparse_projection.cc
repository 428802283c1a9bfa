#include "bench/encodings/sparse_projection.h"

#include <cmath>

#include "encoders/transforms/random_bits.h"

namespace quiver::encodings {

SparseProjection::SparseProjection(std::uint32_t dim, std::uint32_t out_dim, std::uint64_t seed)
    : dim_(dim) {
  const double s = std::sqrt(static_cast<double>(dim));
  factor_ = static_cast<float>(std::sqrt(s / out_dim));
  offsets_.push_back(0);
  for (std::uint64_t row = 0; row < out_dim; ++row) {
    for (std::uint32_t d = 0; d < dim; ++d) {
      const double draw = encoders::random_unit(seed, row * dim + d) * s;
      if (draw < 1.0) entries_.push_back(2 * d + (draw < 0.5 ? 1 : 0));
    }
    offsets_.push_back(static_cast<std::uint32_t>(entries_.size()));
  }
}

void SparseProjection::apply(const float* in, float* out) const {
  for (std::size_t row = 0; row + 1 < offsets_.size(); ++row) {
    float sum = 0;
    for (std::uint32_t e = offsets_[row]; e < offsets_[row + 1]; ++e) {
      const float value = in[entries_[e] / 2];
      sum += entries_[e] % 2 != 0 ? -value : value;
    }
    out[row] = sum * factor_;
  }
}

}  // namespace quiver::encodings

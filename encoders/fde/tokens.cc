#include "encoders/fde/tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quiver::encoders::fde {

void TokenLines::assign(const TokenSet& set, std::uint32_t dim) {
  n_lines_ = (dim + 15) / 16;
  ids_.clear();
  largest_.clear();
  for (std::uint32_t i = 0; i < set.n; ++i) {
    const float largest = kernels().grid.largest(set.values + std::size_t{i} * dim, dim);
    if (largest == 0) continue;
    ids_.push_back(i);
    largest_.push_back(largest);
  }
  copy(dim % 16 == 0 ? set.values : padded(set, dim));
  round();
}

const float* TokenLines::padded(const TokenSet& set, std::uint32_t dim) {
  padded_.assign(set.n * n_lines_ * 16, 0.0f);
  for (std::size_t i = 0; i < set.n; ++i) {
    std::copy_n(set.values + i * dim, dim, padded_.data() + i * n_lines_ * 16);
  }
  return padded_.data();
}

/// Sums of one token each are copies, on cache lines: reads across two lines cost twice.
void TokenLines::copy(const float* tokens) {
  ranges_.resize(n());
  for (std::uint32_t i = 0; i < n(); ++i) ranges_[i] = {i, 1};
  values_.resize(n() * n_lines_ * 16);
  lengths_.resize(n());
  kernels().sets.pool(tokens, n_lines_, ids_.data(), ranges_.data(), n(), values_.data(),
                      lengths_.data());
  for (float& length : lengths_) length = std::sqrt(length);
}

void TokenLines::round() {
  const std::size_t width = n_lines_ * 16;
  bytes_.resize(n() * width);
  sums_.resize(n());
  for (std::size_t i = 0; i < n(); ++i) {
    const float scale = std::min(127.0f / largest_[i], std::numeric_limits<float>::max());
    sums_[i] = kernels().codes.to_bytes(values_.data() + i * width, width, scale,
                                        bytes_.data() + i * width);
  }
}

}  // namespace quiver::encoders::fde

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"

namespace quiver::encoders::fde {

/// The tokens of each bucket of one repetition. One object takes repetition after repetition and
/// its memory grows to the largest.
class Buckets {
 public:
  /// Token i goes to bucket `codes[i]`. There are `n_buckets`, a power of two, and fewer than 2^32
  /// tokens.
  void assign(std::span<const std::uint16_t> codes, std::size_t n_buckets);
  /// Gives each empty bucket one token: of those whose code differs in the fewest bits, the first.
  /// Without tokens, buckets stay empty.
  void fill();

  /// Into `ids`; tokens of a bucket ascend. Empty buckets have 0.
  [[nodiscard]] const TokenRange& operator[](std::size_t bucket) const { return ranges_[bucket]; }
  [[nodiscard]] const std::uint32_t* ids() const { return ids_.data(); }

 private:
  void find_nearest();

  std::size_t n_tokens_ = 0;
  std::vector<TokenRange> ranges_;
  std::vector<std::uint32_t> ids_;      ///< tokens by bucket, then a place a bucket for `fill`
  std::vector<std::uint64_t> nearest_;  ///< `[n_buckets]`: (differing bits, token)
};

}  // namespace quiver::encoders::fde

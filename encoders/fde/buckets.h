#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"

namespace quiver::encoders::fde {

/// Tokens of each bucket of one repetition. One object is reused for all repetitions; its memory
/// grows to the largest.
class Buckets {
 public:
  /// Puts token i into bucket `codes[i]`. `n_buckets` is a power of two; there are fewer than 2^32
  /// tokens.
  void assign(std::span<const std::uint16_t> codes, std::size_t n_buckets);
  /// Gives each empty bucket one token: the first of those whose code differs in the fewest bits.
  /// Without tokens, buckets stay empty.
  void fill();

  /// Range of a bucket in `ids`; its tokens ascend. An empty bucket has `n` = 0.
  [[nodiscard]] const TokenRange& operator[](std::size_t bucket) const { return ranges_[bucket]; }
  [[nodiscard]] const std::uint32_t* ids() const { return ids_.data(); }

 private:
  void find_nearest();

  std::size_t n_tokens_ = 0;
  std::vector<TokenRange> ranges_;
  std::vector<std::uint32_t> ids_;      ///< tokens by bucket, then one place a bucket for `fill`
  std::vector<std::uint64_t> nearest_;  ///< `[n_buckets]`: (differing bits, token)
};

}  // namespace quiver::encoders::fde

#pragma once

#include <cstdint>
#include <vector>

#include "encoders/fde/lines.h"
#include "encoders/set_encoder.h"
#include "kernels/kernels.h"

namespace quiver::encoders::fde {

/// Tokens of a set in the form that encoding reads: in lines of 16 values, and as bytes, whose
/// products with planes are exact. Zero tokens, which have no direction, are left out. One object
/// is reused for all sets; its memory grows to the largest.
class TokenLines {
 public:
  /// `set` has finite values `[n, dim]`, fewer than 2^32 tokens.
  void assign(const TokenSet& set, std::uint32_t dim);

  [[nodiscard]] std::size_t n() const { return ids_.size(); }
  [[nodiscard]] std::size_t n_lines() const { return n_lines_; }
  /// `[n, n_lines, 16]`, zeros beyond the dimension.
  [[nodiscard]] const float* values() const { return values_.data(); }
  /// `[n, n_lines, 16]`: the values in units of the token's largest absolute value / 127, rounded.
  [[nodiscard]] const std::int8_t* bytes() const { return bytes_.data(); }
  /// `[n]`: sum of a token's bytes.
  [[nodiscard]] const std::int32_t* sums() const { return sums_.data(); }
  /// `[n]`: Euclidean lengths, in f32.
  [[nodiscard]] const float* lengths() const { return lengths_.data(); }

 private:
  const float* padded(const TokenSet& set, std::uint32_t dim);
  void copy(const float* tokens);
  void round();

  std::size_t n_lines_ = 0;
  std::vector<std::uint32_t> ids_;  ///< tokens that are not zero
  std::vector<float> largest_;      ///< largest absolute value of each
  std::vector<float> padded_;
  std::vector<TokenRange> ranges_;
  CacheLines<float> values_;
  CacheLines<std::int8_t> bytes_;
  std::vector<std::int32_t> sums_;
  std::vector<float> lengths_;
};

}  // namespace quiver::encoders::fde

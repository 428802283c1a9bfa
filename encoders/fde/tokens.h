#pragma once

#include <cstdint>
#include <vector>

#include "encoders/fde/lines.h"
#include "encoders/set_encoder.h"
#include "kernels/kernels.h"

namespace quiver::encoders::fde {

/// A set's tokens as the steps of encoding read them: in lines of 16 values, without those that are
/// zero, which have no direction, and beside them as bytes, whose products with planes are exact.
/// One object takes set after set and its memory grows to the largest.
class Tokens {
 public:
  /// `set` has finite values `[n, dim]`, fewer than 2^32 tokens.
  void assign(const TokenSet& set, std::uint32_t dim);

  [[nodiscard]] std::size_t n() const { return ids_.size(); }
  [[nodiscard]] std::size_t n_lines() const { return n_lines_; }
  /// `[n, n_lines, 16]`, zeros beyond the dimension.
  [[nodiscard]] const float* values() const { return values_.data(); }
  /// `[n, n_lines, 16]`: the values in units of the token's largest by 127, rounded.
  [[nodiscard]] const std::int8_t* bytes() const { return bytes_.data(); }
  /// `[n]`, of a token's bytes.
  [[nodiscard]] const std::int32_t* sums() const { return sums_.data(); }
  /// `[n]`, Euclidean, in f32.
  [[nodiscard]] const float* lengths() const { return lengths_.data(); }

 private:
  const float* padded(const TokenSet& set, std::uint32_t dim);
  void copy(const float* tokens);
  void round();

  std::size_t n_lines_ = 0;
  std::vector<std::uint32_t> ids_;  ///< of those that are not zero
  std::vector<float> largest_;      ///< of their absolute values
  std::vector<float> padded_;
  std::vector<TokenRange> ranges_;
  Lines<float> values_;
  Lines<std::int8_t> bytes_;
  std::vector<std::int32_t> sums_;
  std::vector<float> lengths_;
};

}  // namespace quiver::encoders::fde

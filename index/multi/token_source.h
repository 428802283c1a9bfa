// The tokens of a multi-vector column as f32.
#pragma once

#include <cstdint>
#include <span>

#include "index/column.h"

namespace quiver::index::multi {

/// Any number of threads. Refers to the column.
class TokenSource {
 public:
  explicit TokenSource(const FieldColumn& column);

  [[nodiscard]] std::uint32_t dim() const { return tokens_.dim; }
  /// Of all rows together.
  [[nodiscard]] std::uint64_t n_tokens() const { return offsets_.back(); }
  /// `[n_rows + 1]`: row i has tokens `[offsets[i], offsets[i + 1])`.
  [[nodiscard]] std::span<const std::uint64_t> offsets() const { return offsets_; }
  /// Writes token `token` to `out`, `[dim()]`; of unit length, or zero, under Cosine.
  void read(std::uint64_t token, float* out) const;

 private:
  const DenseColumn& tokens_;
  std::span<const std::uint64_t> offsets_;
  bool normalise_;
};

}  // namespace quiver::index::multi

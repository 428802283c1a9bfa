// A query vector, prepared once for all segments: normalised, scattered or blocked as its field
// needs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/schema.h"
#include "base/views.h"
#include "kernels/kernels.h"

namespace quiver::index {

/// Immutable; any number of threads.
class PreparedQuery {
 public:
  /// `vector`: `[schema.dim]`; scaled to unit length under Cosine.
  [[nodiscard]] static PreparedQuery dense(const FieldSchema& schema,
                                           std::span<const float> vector);
  /// `vector` sorted by index.
  [[nodiscard]] static PreparedQuery sparse(const FieldSchema& schema, SparseView vector);
  /// `tokens`: `[n_tokens, schema.dim]`, each scaled to unit length under Cosine. `weights`: factor
  /// of each token's score, >= 0, under Dot and Cosine only; empty: all 1.
  [[nodiscard]] static PreparedQuery multi(const FieldSchema& schema, std::span<const float> tokens,
                                           std::span<const float> weights = {});

  [[nodiscard]] const FieldSchema& schema() const { return schema_; }
  /// Dense: the vector; multi: the tokens, row-major.
  [[nodiscard]] std::span<const float> values() const { return values_; }
  /// The same as rows are compared with: rotated, where rows are (`is_compared_rotated`).
  [[nodiscard]] std::span<const float> compared_values() const {
    return rotated_.empty() ? values_ : rotated_;
  }
  /// Dense u8 fields: the vector as given, if all values are whole numbers in [0, 255]; else empty.
  /// Rows are then scored in integers.
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] std::uint32_t n_tokens() const { return n_tokens_; }
  /// Multi: `compared_values()` in the layout of `MaxSimKernels::prepare`.
  [[nodiscard]] std::span<const float> blocked() const { return blocked_; }
  /// Sparse: the kernels' view, borrowed from this query.
  [[nodiscard]] SparseQuery sparse() const;

 private:
  explicit PreparedQuery(const FieldSchema& schema) : schema_(schema) {}
  void rotate_values();

  FieldSchema schema_;
  std::vector<float> values_;
  std::vector<float> rotated_;
  std::vector<std::uint8_t> bytes_;
  std::uint32_t n_tokens_ = 0;
  std::vector<float> blocked_;
  std::vector<std::uint32_t> indices_;
  std::vector<float> scattered_;
  SparseFilter sparse_filter_;
};

}  // namespace quiver::index

// Rows of a dense column as the index sees them: f32, of unit length under Cosine, all multiplied
// by the power of two that brings the longest to a length in (1/2, 1]. Rows with a vector are
// numbered from 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/index.h"

namespace quiver::index::dense::osq {

/// Any number of threads. Borrows the column.
class ScaledRows {
 public:
  /// Reads all rows once, for their lengths.
  [[nodiscard]] static Result<ScaledRows> make(const FieldColumn& column,
                                               const BuildContext& context);

  [[nodiscard]] std::uint32_t n() const { return static_cast<std::uint32_t>(rows_.size()); }
  [[nodiscard]] std::uint32_t dim() const { return column_->dense().dim; }
  [[nodiscard]] double scale() const { return scale_; }
  /// Row of the column.
  [[nodiscard]] std::uint32_t row(std::uint32_t i) const { return rows_[i]; }
  /// Writes the `i`-th row that has a vector to `out`, `[dim()]`.
  void read(std::uint32_t i, float* out) const;

 private:
  explicit ScaledRows(const FieldColumn& column);
  void read_unscaled(std::uint32_t i, float* out) const;

  const FieldColumn* column_;
  std::vector<std::uint32_t> rows_;
  double scale_ = 1;
};

}  // namespace quiver::index::dense::osq

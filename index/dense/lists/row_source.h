// Rows of a dense column as the index sees them: f32, of unit length under Cosine, rotated. Rows
// with a vector are numbered from 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encoders/transforms/rotation.h"
#include "index/vector_column.h"

namespace quiver::index::dense {

/// Any number of threads. Borrows the column and the rotation.
class RowSource {
 public:
  RowSource(const FieldColumn& column, const encoders::Rotation& rotation);

  [[nodiscard]] std::uint32_t dim() const { return rotation_.padded_dim(); }
  [[nodiscard]] const encoders::Rotation& rotation() const { return rotation_; }
  /// Writes the `i`-th row that has a vector to `out`, `[dim()]`.
  void read(std::uint32_t i, float* out) const;
  [[nodiscard]] std::uint32_t n() const { return static_cast<std::uint32_t>(rows_.size()); }
  /// Writes the stored values to `out`, `[column().dense().dim]`.
  void read_stored(std::uint32_t i, float* out) const;
  [[nodiscard]] const FieldColumn& column() const { return column_; }
  /// Row of the column.
  [[nodiscard]] std::uint32_t row(std::uint32_t i) const { return rows_[i]; }
  [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_; }
  /// Number here of each row of the column; 0 for rows without a vector.
  [[nodiscard]] std::vector<std::uint32_t> numbers() const;

 private:
  const FieldColumn& column_;
  const encoders::Rotation& rotation_;
  bool normalise_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace quiver::index::dense

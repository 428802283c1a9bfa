// The rows of a dense column as the index sees them: f32, of unit length under Cosine, rotated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encoders/transforms/rotation.h"
#include "index/vector_column.h"

namespace quiver::index::dense {

/// Any number of threads. Refers to the column and the rotation.
class RowSource {
 public:
  RowSource(const FieldColumn& column, const encoders::Rotation& rotation);

  [[nodiscard]] std::uint32_t dim() const { return rotation_.padded_dim(); }
  [[nodiscard]] const encoders::Rotation& rotation() const { return rotation_; }
  /// The `i`-th row that has a vector, as `[dim()]`.
  void read(std::uint32_t i, float* out) const;
  [[nodiscard]] std::uint32_t n() const { return static_cast<std::uint32_t>(rows_.size()); }
  /// As it is stored, as `[column().dense().dim]`.
  void read_stored(std::uint32_t i, float* out) const;
  [[nodiscard]] const FieldColumn& column() const { return column_; }
  /// Its number in the column.
  [[nodiscard]] std::uint32_t row(std::uint32_t i) const { return rows_[i]; }
  [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_; }
  /// The other way: what is here the number of each row of the column that has a vector.
  [[nodiscard]] std::vector<std::uint32_t> numbers() const;

 private:
  const FieldColumn& column_;
  const encoders::Rotation& rotation_;
  bool normalise_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace quiver::index::dense

// Rows of the sources, joined: points on their way to the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/schema.h"
#include "dataset/vectors.h"
#include "engine/model/vector.h"

namespace quiver::app {

/// The vectors of one field for the rows of a block.
struct VectorColumn {
  std::string name;
  FieldKind kind = FieldKind::kDense;
  std::uint32_t dim = 0;
  DType type = DType::kF32;  ///< which holds all values of the batch as they are
  dataset::VectorBatch batch;
  std::vector<std::uint8_t> present;  ///< by row of the block; 0: the point goes without it
};

/// One point, but for the vectors in columns.
struct RowPoint {
  std::uint64_t row = 0;
  std::size_t column_row = 0;  ///< its row in the block's columns
  PointId id;
  std::string payload;                       ///< canonical JSON object; empty: none
  std::vector<engine::NamedVector> vectors;  ///< of JSON points; those of files are in columns
};

/// Rows [first_row, end_row). Those left out have no entry in `points`.
struct RowBlock {
  std::uint64_t first_row = 0;
  std::uint64_t end_row = 0;
  std::vector<VectorColumn> columns;
  std::vector<RowPoint> points;  ///< ascending by row
};

/// The vector of row `i` of the block.
[[nodiscard]] std::span<const float> dense_row(const VectorColumn& column, std::size_t i);
struct SparseRow {
  std::span<const std::uint32_t> indices;
  std::span<const float> values;
};
[[nodiscard]] SparseRow sparse_row(const VectorColumn& column, std::size_t i);
[[nodiscard]] std::size_t n_tokens(const VectorColumn& column, std::size_t i);
/// `[n_tokens, dim]`
[[nodiscard]] std::span<const float> multi_row(const VectorColumn& column, std::size_t i);

/// The same, owned.
[[nodiscard]] engine::VectorValue to_value(const VectorColumn& column, std::size_t i);

}  // namespace quiver::app

// Blocks of joined rows: points on their way from the sources to the target.
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
  DType type = DType::kF32;  ///< smallest type that holds all values of the batch exactly
  dataset::VectorBatch batch;
  std::vector<std::uint8_t> present;  ///< by row of the block; 0: the point lacks this vector
};

/// One point, without the vectors that are in columns.
struct RowPoint {
  std::uint64_t row = 0;
  std::size_t column_row = 0;  ///< its row in the block's columns
  PointId id;
  std::string payload;  ///< canonical JSON object; empty: none
  std::vector<engine::NamedVector>
      vectors;  ///< from JSON points; vectors from files are in columns
};

/// Rows [first_row, end_row). Skipped rows have no entry in `points`.
struct RowBlock {
  std::uint64_t first_row = 0;
  std::uint64_t end_row = 0;
  std::vector<VectorColumn> columns;
  std::vector<RowPoint> points;  ///< ascending by row
};

// The vector of row `i` of the block, borrowed from the column.
[[nodiscard]] std::span<const float> dense_row(const VectorColumn& column, std::size_t i);
struct SparseRow {
  std::span<const std::uint32_t> indices;
  std::span<const float> values;
};
[[nodiscard]] SparseRow sparse_row(const VectorColumn& column, std::size_t i);
[[nodiscard]] std::size_t n_tokens(const VectorColumn& column, std::size_t i);
/// Values `[n_tokens, dim]`.
[[nodiscard]] std::span<const float> multi_row(const VectorColumn& column, std::size_t i);

/// A copy of the vector of row `i`.
[[nodiscard]] engine::VectorValue to_value(const VectorColumn& column, std::size_t i);

}  // namespace quiver::app

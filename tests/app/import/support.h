// Blocks and columns that several tests of the import use.
#pragma once

#include <cstdint>
#include <vector>

#include "app/import/plan/rows.h"

namespace quiver::app {

inline RowBlock block_of(std::uint64_t first_row, const std::vector<std::uint64_t>& ids) {
  RowBlock block;
  block.first_row = block.end_row = first_row;
  for (const std::uint64_t id : ids) {
    RowPoint point;
    point.row = block.end_row++;
    point.column_row = point.row - first_row;
    point.id = PointId::number(id);
    block.points.push_back(point);
  }
  return block;
}

inline VectorColumn dense_column() {
  VectorColumn column;
  column.name = "d";
  column.dim = 2;
  column.batch.n_rows = 3;
  column.batch.values = {1, 2, 3, 4, 5, 6};
  column.present = {1, 1, 0};
  return column;
}

inline VectorColumn sparse_column() {
  VectorColumn column;
  column.name = "s";
  column.kind = FieldKind::kSparse;
  column.batch.n_rows = 3;
  column.batch.offsets = {0, 1, 1, 3};
  column.batch.indices = {7, 1, 9};
  column.batch.values = {0.5, 1, 2};
  column.present = {1, 0, 1};
  return column;
}

}  // namespace quiver::app

#include "app/import/directory/bulk_rows.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace quiver::app {
namespace {

void append_offsets(VectorColumn& column, std::size_t n) {
  auto& offsets = column.batch.offsets;
  if (offsets.empty()) offsets.push_back(0);
  offsets.push_back(offsets.back() + n);
}

template <class T>
void append(std::vector<T>& to, std::span<const T> from) {
  to.insert(to.end(), from.begin(), from.end());
}

void append_absent(VectorColumn& column) {
  ++column.batch.n_rows;
  column.present.push_back(0);
  if (column.kind == FieldKind::kDense) {
    column.batch.values.resize(column.batch.values.size() + column.dim);
  } else {
    append_offsets(column, 0);
  }
}

void append_row(const VectorColumn& from, std::size_t i, VectorColumn& to) {
  if (i >= from.present.size() || from.present[i] == 0) return append_absent(to);
  ++to.batch.n_rows;
  to.present.push_back(1);
  if (from.kind == FieldKind::kDense) return append(to.batch.values, dense_row(from, i));
  if (from.kind == FieldKind::kSparse) {
    const SparseRow row = sparse_row(from, i);
    append_offsets(to, row.indices.size());
    append(to.batch.indices, row.indices);
    return append(to.batch.values, row.values);
  }
  const auto values = multi_row(from, i);
  append_offsets(to, values.size() / from.dim);
  append(to.batch.values, values);
}

VectorColumn empty_like(const VectorColumn& column) {
  VectorColumn empty;
  empty.name = column.name;
  empty.kind = column.kind;
  empty.dim = column.dim;
  if (column.kind != FieldKind::kDense) empty.batch.offsets = {0};
  return empty;
}

/// False if the column has rows without a point, or values for absent rows.
bool is_aligned(const VectorColumn& column, std::size_t n_points) {
  if (column.batch.n_rows != n_points) return false;
  if (column.kind == FieldKind::kDense) return true;
  for (std::size_t i = 0; i < n_points; ++i) {
    const bool is_empty = column.batch.offsets[i] == column.batch.offsets[i + 1];
    if (column.present[i] == 0 && !is_empty) return false;
  }
  return true;
}

void align(const RowBlock& block, VectorColumn& column) {
  if (is_aligned(column, block.points.size())) return;
  VectorColumn aligned = empty_like(column);
  for (const RowPoint& point : block.points) {
    append_row(column, point.column_row, aligned);
  }
  column = std::move(aligned);
}

struct AppendValue {
  VectorColumn& column;
  void operator()(const engine::DenseVector& vector) const {
    append(column.batch.values, std::span<const float>(vector));
  }
  void operator()(const engine::SparseVector& vector) const {
    append_offsets(column, vector.indices.size());
    append(column.batch.indices, std::span<const std::uint32_t>(vector.indices));
    append(column.batch.values, std::span<const float>(vector.values));
  }
  void operator()(const engine::MultiVector& vector) const {
    append_offsets(column, vector.n_tokens);
    append(column.batch.values, std::span<const float>(vector.values));
  }
};

VectorColumn column_of(const FieldSchema& field, std::vector<RowPoint>& points) {
  VectorColumn column;
  column.name = field.name;
  column.kind = field.kind;
  column.dim = field.dim;
  for (const RowPoint& point : points) {
    const auto vector =
        std::find_if(point.vectors.begin(), point.vectors.end(),
                     [&](const engine::NamedVector& v) { return v.name == field.name; });
    if (vector == point.vectors.end()) {
      append_absent(column);
      continue;
    }
    ++column.batch.n_rows;
    column.present.push_back(1);
    std::visit(AppendValue{column}, vector->value);
  }
  return column;
}

struct SizeBytes {
  std::uint64_t operator()(const engine::DenseVector& vector) const {
    return vector.size() * sizeof(float);
  }
  std::uint64_t operator()(const engine::SparseVector& vector) const {
    return vector.indices.size() * (sizeof(std::uint32_t) + sizeof(float));
  }
  std::uint64_t operator()(const engine::MultiVector& vector) const {
    return vector.values.size() * sizeof(float);
  }
};

bool has_any(const VectorColumn& column) {
  return std::any_of(column.present.begin(), column.present.end(), [](auto p) { return p != 0; });
}

}  // namespace

void align_columns(RowBlock& block, const std::vector<FieldSchema>& fields) {
  for (VectorColumn& column : block.columns) align(block, column);
  for (std::size_t i = 0; i < block.points.size(); ++i) block.points[i].column_row = i;
  const bool has_vectors = std::any_of(block.points.begin(), block.points.end(),
                                       [](const RowPoint& p) { return !p.vectors.empty(); });
  if (!has_vectors) return;
  for (const FieldSchema& field : fields) {
    VectorColumn column = column_of(field, block.points);
    if (has_any(column)) block.columns.push_back(std::move(column));
  }
  for (RowPoint& point : block.points) point.vectors.clear();
}

ChunkOf::ChunkOf(const RowBlock& block) {
  bool has_payload = false;
  for (const RowPoint& point : block.points) {
    ids_.push_back(point.id);
    payloads_.push_back(point.payload);
    has_payload |= !point.payload.empty();
  }
  chunk_.ids = ids_;
  if (has_payload) chunk_.payloads = payloads_;
  for (const VectorColumn& column : block.columns) {
    const dataset::VectorBatch& batch = column.batch;
    engine::BulkField field{column.name, engine::DenseRows{batch.values}, column.present};
    if (column.kind == FieldKind::kSparse) {
      field.rows = engine::SparseRows{batch.offsets, batch.indices, batch.values};
    } else if (column.kind == FieldKind::kMulti) {
      field.rows = engine::MultiRows{batch.offsets, batch.values};
    }
    chunk_.fields.push_back(std::move(field));
  }
}

std::uint64_t size_bytes(const RowBlock& block) {
  std::uint64_t bytes = 0;
  for (const VectorColumn& column : block.columns) {
    bytes += column.batch.values.size() * sizeof(float);
    bytes += column.batch.indices.size() * sizeof(std::uint32_t);
  }
  for (const RowPoint& point : block.points) {
    bytes += sizeof(RowPoint) + point.payload.size();
    for (const auto& vector : point.vectors) bytes += std::visit(SizeBytes{}, vector.value);
  }
  return bytes;
}

}  // namespace quiver::app

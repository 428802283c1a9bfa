#include "app/import/plan/rows.h"

namespace quiver::app {

std::span<const float> dense_row(const VectorColumn& column, std::size_t i) {
  return std::span(column.batch.values).subspan(i * column.dim, column.dim);
}

SparseRow sparse_row(const VectorColumn& column, std::size_t i) {
  const std::size_t first = column.batch.offsets[i];
  const std::size_t n = column.batch.offsets[i + 1] - first;
  return {std::span(column.batch.indices).subspan(first, n),
          std::span(column.batch.values).subspan(first, n)};
}

std::size_t n_tokens(const VectorColumn& column, std::size_t i) {
  return column.batch.offsets[i + 1] - column.batch.offsets[i];
}

std::span<const float> multi_row(const VectorColumn& column, std::size_t i) {
  const std::size_t first = column.batch.offsets[i];
  const std::size_t n = column.batch.offsets[i + 1] - first;
  return std::span(column.batch.values).subspan(first * column.dim, n * column.dim);
}

engine::VectorValue to_value(const VectorColumn& column, std::size_t i) {
  if (column.kind == FieldKind::kDense) {
    const auto row = dense_row(column, i);
    return engine::DenseVector(row.begin(), row.end());
  }
  if (column.kind == FieldKind::kSparse) {
    const SparseRow row = sparse_row(column, i);
    return engine::SparseVector{{row.indices.begin(), row.indices.end()},
                                {row.values.begin(), row.values.end()}};
  }
  const auto row = multi_row(column, i);
  const auto n_tokens = static_cast<std::uint32_t>(row.size() / column.dim);
  return engine::MultiVector{n_tokens, column.dim, {row.begin(), row.end()}};
}

}  // namespace quiver::app

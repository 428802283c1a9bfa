#include "index/dense/lists/row_source.h"

#include "index/stored_rows.h"

namespace quiver::index::dense {

RowSource::RowSource(const FieldColumn& column, const encoders::Rotation& rotation)
    : column_(column),
      rotation_(rotation),
      normalise_(column.schema.metric == Metric::kCosine),
      rows_(list_present_rows(column)) {}

std::vector<std::uint32_t> RowSource::numbers() const {
  std::vector<std::uint32_t> numbers(column_.n_rows, 0);
  for (std::uint32_t i = 0; i < n(); ++i) numbers[rows_[i]] = i;
  return numbers;
}

void RowSource::read_stored(std::uint32_t i, float* out) const {
  const DenseColumn& column = column_.dense();
  to_floats(column.rows().row(rows_[i]), column.dtype, column.dim, out);
}

void RowSource::read(std::uint32_t i, float* out) const {
  thread_local std::vector<float> values;
  const std::uint32_t dim = column_.dense().dim;
  values.resize(dim);
  read_stored(i, values.data());
  if (normalise_) to_unit_length(values.data(), dim);
  rotation_.apply(values.data(), out);
}

}  // namespace quiver::index::dense

#include "index/ivf/row_source.h"

#include "kernels/kernels.h"

namespace quiver::index::ivf {
namespace {

void to_floats(const std::byte* row, const DenseColumn& column, float* out) {
  const auto& convert = kernels().convert;
  switch (column.dtype) {
    case DType::kF32:
      std::copy_n(reinterpret_cast<const float*>(row), column.dim, out);
      return;
    case DType::kF16:
      convert.f16_to_f32(reinterpret_cast<const std::uint16_t*>(row), column.dim, out);
      return;
    case DType::kU8:
      convert.u8_to_f32(reinterpret_cast<const std::uint8_t*>(row), column.dim, out);
      return;
  }
}

}  // namespace

RowSource::RowSource(const FieldColumn& column, const encoders::Rotation& rotation)
    : column_(column), rotation_(rotation), normalise_(column.schema.metric == Metric::kCosine) {
  rows_.reserve(column.n_present);
  for (std::uint32_t row = 0; row < column.n_rows; ++row) {
    if (column.present[row] != 0) rows_.push_back(row);
  }
}

void RowSource::read_stored(std::uint32_t i, float* out) const {
  const DenseColumn& column = column_.dense();
  to_floats(column.rows().row(rows_[i]), column, out);
}

void RowSource::read(std::uint32_t i, float* out) const {
  thread_local std::vector<float> values;
  const std::uint32_t dim = column_.dense().dim;
  values.resize(dim);
  read_stored(i, values.data());
  if (normalise_) {
    const auto& convert = kernels().convert;
    const double norm = convert.norm(values.data(), dim);
    if (norm > 0) convert.scale(values.data(), dim, 1.0 / norm, values.data());
  }
  rotation_.apply(values.data(), out);
}

}  // namespace quiver::index::ivf

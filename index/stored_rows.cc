#include "index/stored_rows.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace quiver::index {

void to_floats(const std::byte* values, DType dtype, std::size_t n, float* out) {
  const auto& convert = kernels().convert;
  switch (dtype) {
    case DType::kF32:
      std::copy_n(reinterpret_cast<const float*>(values), n, out);
      return;
    case DType::kF16:
      convert.f16_to_f32(reinterpret_cast<const std::uint16_t*>(values), n, out);
      return;
    case DType::kU8:
      convert.u8_to_f32(reinterpret_cast<const std::uint8_t*>(values), n, out);
      return;
  }
}

void to_unit_length(float* vector, std::size_t dim) {
  const auto& convert = kernels().convert;
  const double norm = convert.norm(vector, dim);
  if (norm > 0) convert.scale(vector, dim, 1.0 / norm, vector);
}

std::vector<std::uint32_t> list_present_rows(const FieldColumn& column) {
  std::vector<std::uint32_t> rows;
  rows.reserve(column.n_present);
  for (std::uint32_t row = 0; row < column.n_rows; ++row) {
    if (column.present[row] != 0) rows.push_back(row);
  }
  return rows;
}

}  // namespace quiver::index

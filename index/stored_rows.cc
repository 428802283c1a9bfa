#include "index/stored_rows.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace quiver::index {

void to_floats(const std::byte* row, DType dtype, std::uint32_t dim, float* out) {
  const auto& convert = kernels().convert;
  switch (dtype) {
    case DType::kF32:
      std::copy_n(reinterpret_cast<const float*>(row), dim, out);
      return;
    case DType::kF16:
      convert.f16_to_f32(reinterpret_cast<const std::uint16_t*>(row), dim, out);
      return;
    case DType::kU8:
      convert.u8_to_f32(reinterpret_cast<const std::uint8_t*>(row), dim, out);
      return;
  }
}

void to_unit_length(float* vector, std::size_t dim) {
  const auto& convert = kernels().convert;
  const double norm = convert.norm(vector, dim);
  if (norm > 0) convert.scale(vector, dim, 1.0 / norm, vector);
}

std::size_t read_tokens(const FieldColumn& column, std::uint32_t row, std::vector<float>& out) {
  const MatrixView tokens = column.multi().row(row);
  out.resize(tokens.n_rows * tokens.dim);
  for (std::size_t t = 0; t < tokens.n_rows; ++t) {
    float* token = out.data() + t * tokens.dim;
    to_floats(tokens.row(t), tokens.dtype, tokens.dim, token);
    if (column.schema.metric == Metric::kCosine) to_unit_length(token, tokens.dim);
  }
  return tokens.n_rows;
}

}  // namespace quiver::index

#include "index/stored_rows.h"

#include <algorithm>
#include <optional>

#include "encoders/codes/int8_row.h"
#include "encoders/codes/turbo.h"
#include "kernels/float8.h"
#include "kernels/kernels.h"

namespace quiver::index {
namespace {

/// The code of such vectors. Each thread keeps the last one: making it takes as long as using it.
const encoders::TurboCode& turbo_code(DType dtype, std::size_t dim) {
  thread_local std::optional<encoders::TurboCode> code;
  const std::uint32_t bits = bits_per_value(dtype);
  if (!code || code->dim() != dim || code->bits() != bits) {
    code.emplace(static_cast<std::uint32_t>(dim), bits);
  }
  return *code;
}

bool store_scaled(const FieldSchema& schema, std::span<const float> vector, std::byte* out) {
  const double length = kernels().convert.norm(vector.data(), vector.size());
  if (length > kMaxCodeLength) return false;
  const auto kept =
      schema.metric == Metric::kCosine ? encoders::RowLength::kOne : encoders::RowLength::kKept;
  if (schema.dtype == DType::kI8) {
    encoders::encode_int8(vector, kept, out);
  } else {
    turbo_code(schema.dtype, schema.dim).encode(vector.data(), kept, out);
  }
  return true;
}

template <class Format>
void store_float8(std::span<const float> vector, std::byte* out) {
  std::transform(vector.begin(), vector.end(), out,
                 [](float value) { return static_cast<std::byte>(to_float8<Format>(value)); });
}

/// Bit i % 8 of byte i / 8 is set if value i is positive.
void store_signs(std::span<const float> vector, std::byte* out) {
  std::fill_n(out, (vector.size() + 7) / 8, std::byte{0});
  for (std::size_t i = 0; i < vector.size(); ++i) {
    if (vector[i] > 0) out[i / 8] |= std::byte{1} << (i % 8);
  }
}

}  // namespace

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
    case DType::kBf16:
      convert.bf16_to_f32(reinterpret_cast<const std::uint16_t*>(values), n, out);
      return;
    case DType::kTurbo4:
    case DType::kTurbo8:
    case DType::kTurbo16:
      turbo_code(dtype, n).decode(values, out);
      return;
    case DType::kI8:
      encoders::decode_int8(values, n, out);
      return;
    case DType::kE4m3:
      convert.e4m3_to_f32(reinterpret_cast<const std::uint8_t*>(values), n, out);
      return;
    case DType::kE5m2:
      convert.e5m2_to_f32(reinterpret_cast<const std::uint8_t*>(values), n, out);
      return;
    case DType::kBinary:
      convert.bits_to_f32(reinterpret_cast<const std::uint8_t*>(values), n, out);
      return;
  }
}

bool store_code(const FieldSchema& schema, std::span<const float> vector, std::byte* out) {
  if (has_scale(schema.dtype)) return store_scaled(schema, vector, out);
  if (schema.dtype == DType::kE4m3) store_float8<E4m3>(vector, out);
  if (schema.dtype == DType::kE5m2) store_float8<E5m2>(vector, out);
  if (schema.dtype == DType::kBinary) store_signs(vector, out);
  return true;
}

void rotate_for(const FieldSchema& schema, const float* in, float* out) {
  turbo_code(schema.dtype, schema.dim).rotation().apply(in, out);
}

void to_compared_floats(const std::byte* row, const FieldSchema& schema, float* out) {
  if (is_compared_rotated(schema)) {
    encoders::TurboCode::decode_rotated(row, schema.dim, bits_per_value(schema.dtype), out);
    return;
  }
  to_floats(row, schema.dtype, schema.dim, out);
  if (is_scaled_to_compare(schema)) to_unit_length(out, schema.dim);
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

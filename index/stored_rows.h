// Stored vectors as floats, and vectors that are stored as codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/schema.h"
#include "index/vector_column.h"

namespace quiver::index {

/// `values`: `n` values of type `dtype`; of a code exactly one vector.
void to_floats(const std::byte* values, DType dtype, std::size_t n, float* out);

/// Length of the longest vector that a type with a scale for each row can hold.
inline constexpr double kMaxCodeLength = 3e38;

/// Writes the code of `vector`, `[schema.dim]`, to `out`, `[vector_bytes]`. Under Cosine `vector`
/// is 1 long or zero. False if the vector is too long; too large floats of 8 bits become the
/// largest.
[[nodiscard]] bool store_code(const FieldSchema& schema, std::span<const float> vector,
                              std::byte* out);

/// True if rows of such a field are compared in their rotated form: turbo types, but for Manhattan,
/// whose distances a rotation changes. Queries must be rotated too (`rotate_for`).
[[nodiscard]] constexpr bool is_compared_rotated(const FieldSchema& schema) {
  return is_turbo(schema.dtype) && schema.metric != Metric::kManhattan;
}

/// `in` and `out`: `[schema.dim]`, not overlapping.
void rotate_for(const FieldSchema& schema, const float* in, float* out);

/// True if vectors of such a field are compared at length 1 but stored at another: bytes as they
/// were sent, floats of 8 bits because rounding changes lengths, signs because each counts 1.
[[nodiscard]] constexpr bool is_scaled_to_compare(const FieldSchema& schema) {
  return schema.metric == Metric::kCosine &&
         (schema.dtype == DType::kU8 || is_float8(schema.dtype) || schema.dtype == DType::kBinary);
}

/// True if kernels compare rows of such a field in another form than the stored one
/// (`to_compared_floats`). Dense u8 rows under Cosine need not be: there scores are divided.
[[nodiscard]] constexpr bool is_compared_converted(const FieldSchema& schema) {
  return is_code(schema.dtype) || is_scaled_to_compare(schema);
}

/// Stored row as it is compared: rotated, scaled to length 1, or as it is, as `schema` says.
void to_compared_floats(const std::byte* row, const FieldSchema& schema, float* out);

/// Bytes that a scan of other rows reads in the time that scoring a stored vector exactly takes.
[[nodiscard]] constexpr std::size_t exact_row_cost(const FieldSchema& schema) {
  const std::size_t floats = sizeof(float) * std::size_t{schema.dim};
  if (!is_code(schema.dtype)) return padded_row_bytes(schema.dim, schema.dtype);
  const bool is_rotated_back = is_turbo(schema.dtype) && !is_compared_rotated(schema);
  return is_rotated_back ? 12 * floats : 2 * floats;
}

/// Scales `vector` to unit length, unless it is zero.
void to_unit_length(float* vector, std::size_t dim);

/// Rows that have a vector, ascending.
[[nodiscard]] std::vector<std::uint32_t> list_present_rows(const FieldColumn& column);

}  // namespace quiver::index

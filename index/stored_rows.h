// Stored vectors as floats, and turbo vectors, which are stored as codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/schema.h"
#include "index/vector_column.h"

namespace quiver::index {

/// `values`: `n` values of type `dtype`; of a turbo type exactly one vector.
void to_floats(const std::byte* values, DType dtype, std::size_t n, float* out);

/// Length of the longest vector that a turbo type can hold.
inline constexpr double kMaxTurboLength = 3e38;

/// Writes the code of `vector`, `[schema.dim]`, to `out`, `[vector_bytes]`. Under Cosine, what is
/// stored has length 1, unless it is zero. False if the vector is too long.
[[nodiscard]] bool store_turbo(const FieldSchema& schema, std::span<const float> vector,
                               std::byte* out);

/// True if rows of such a field are compared in their rotated form: turbo types, but for Manhattan,
/// whose distances a rotation changes. Queries must be rotated too (`rotate_for`).
[[nodiscard]] constexpr bool is_compared_rotated(const FieldSchema& schema) {
  return is_turbo(schema.dtype) && schema.metric != Metric::kManhattan;
}

/// `in` and `out`: `[schema.dim]`, not overlapping.
void rotate_for(const FieldSchema& schema, const float* in, float* out);

/// Stored turbo row as it is compared: rotated or not, as `schema` says.
void to_compared_floats(const std::byte* row, const FieldSchema& schema, float* out);

/// Bytes that a scan of other rows reads in the time that scoring a stored vector exactly takes.
[[nodiscard]] constexpr std::size_t exact_row_cost(const FieldSchema& schema) {
  const std::size_t floats = sizeof(float) * std::size_t{schema.dim};
  if (!is_turbo(schema.dtype)) return padded_row_bytes(schema.dim, schema.dtype);
  return is_compared_rotated(schema) ? 2 * floats : 12 * floats;
}

/// Scales `vector` to unit length, unless it is zero.
void to_unit_length(float* vector, std::size_t dim);

/// Rows that have a vector, ascending.
[[nodiscard]] std::vector<std::uint32_t> list_present_rows(const FieldColumn& column);

}  // namespace quiver::index

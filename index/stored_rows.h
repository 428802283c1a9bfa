// Stored vectors as floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/schema.h"
#include "index/vector_column.h"

namespace quiver::index {

/// `values`: `n` values of type `dtype`.
void to_floats(const std::byte* values, DType dtype, std::size_t n, float* out);

/// Scales `vector` to unit length, unless it is zero.
void to_unit_length(float* vector, std::size_t dim);

/// Rows that have a vector, ascending.
[[nodiscard]] std::vector<std::uint32_t> list_present_rows(const FieldColumn& column);

}  // namespace quiver::index

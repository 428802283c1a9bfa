// Stored vectors as floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/schema.h"
#include "index/column.h"

namespace quiver::index {

/// `row`: `dim` values of type `dtype`.
void to_floats(const std::byte* row, DType dtype, std::uint32_t dim, float* out);

/// Scales `vector` to unit length, unless it is zero.
void to_unit_length(float* vector, std::size_t dim);

/// The tokens of a row of a multi-vector field as its metric sees them, `[n, dim]`: of unit length
/// under Cosine. Returns n.
std::size_t read_tokens(const FieldColumn& column, std::uint32_t row, std::vector<float>& out);

}  // namespace quiver::index

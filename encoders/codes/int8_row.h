// A vector as signed bytes and one scale: its form on disk, in memory and on the way back to users.
//
// A row is the f32 scale, then one code a dimension. Value i is `code[i] * scale`. The largest
// value gets the code 127 or -127, so each vector uses all steps, however long it is. A vector of
// whole numbers from -128 to 127 has scale 1 and loses nothing. Encoding what was decoded gives the
// same bytes again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "encoders/codes/row_scale.h"

namespace quiver::encoders {

/// `in`: finite, at most 3e38 long. `row`: 4 bytes more than values. Of length `kOne`, `in` must be
/// about 1 long, or zero. Vectors whose scale would be below the smallest normal f32 become zero.
void encode_int8(std::span<const float> in, RowLength length, std::byte* row);

/// `out`: `[dim]`. Exact: a code times a scale of 16 bits is a float, except of length `kOne`,
/// where it is rounded once.
void decode_int8(const std::byte* row, std::size_t dim, float* out);

}  // namespace quiver::encoders

#pragma once

#include <cstdint>

#include "encoders/encoder.h"

namespace quiver::encodings {

enum class Float8 { kE4m3, kE5m2 };

/// Values times `scale` as eight-bit floats (kernels/float8.h), saturating. `scale` should be a
/// power of two, which loses nothing. Scores decode the rows: no CPU multiplies this format.
[[nodiscard]] encoders::EncoderPtr make_float8_encoder(Similarity similarity, std::uint32_t dim,
                                                       Float8 format, float scale);

}  // namespace quiver::encodings

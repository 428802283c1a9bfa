// One stored value a dimension.
#pragma once

#include <span>

#include "encoders/encoder.h"

namespace quiver::encoders {

/// f32, f16, bf16, rounded to nearest even. f16: values beyond 65504 become infinite.
[[nodiscard]] EncoderPtr make_float_encoder(Similarity similarity, std::uint32_t dim, RowType type);

enum class Float8 { kE4m3, kE5m2 };

/// Values times `scale` as eight-bit floats (encoders/codes/float8.h), saturating; a power of two
/// loses nothing. Scores decode the rows: this form is for exchange and for hardware that
/// multiplies it.
[[nodiscard]] EncoderPtr make_float8_encoder(Similarity similarity, std::uint32_t dim,
                                             Float8 format, float scale);

/// A byte a dimension, 256 even steps between `-limit` and `limit`. With `limit` 0, each row has
/// its own, its largest absolute value, which costs four bytes. Distances cost four bytes more.
[[nodiscard]] EncoderPtr make_byte_encoder(Similarity similarity, std::uint32_t dim, float limit);

/// The absolute value that all but a share of the values of a sample reach at most; `values` is not
/// empty and `share` within [0, 1).
[[nodiscard]] float limit_of(std::span<const float> values, double share);

}  // namespace quiver::encoders

// Encodings with one stored value a dimension. Benchmarked only; no index uses these encoders yet
// (docs/decisions/0028).
#pragma once

#include <span>

#include "encoders/encoder.h"

namespace quiver::encoders {

/// f32, f16 or bf16, rounded to nearest even. In f16, values beyond 65504 become infinite.
[[nodiscard]] EncoderPtr make_float_encoder(Similarity similarity, std::uint32_t dim, RowType type);

/// A byte a dimension: 256 even steps between `-limit` and `limit`. `limit` 0 means the largest
/// absolute value of each row, which costs four bytes a row. Distances cost four bytes more.
[[nodiscard]] EncoderPtr make_byte_encoder(Similarity similarity, std::uint32_t dim, float limit);

/// Quantile of absolute values: all but a `share` in [0, 1) of `values` are at most this large.
/// `values` is not empty.
[[nodiscard]] float limit_of(std::span<const float> values, double share);

}  // namespace quiver::encoders

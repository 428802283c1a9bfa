// Codes of few bits in blocks of sixteen rows (`CodeBlocks` in kernels/kernels.h), eight bytes of
// factors a row included. Dimensions are padded to multiples of 32 of one bit.
#pragma once

#include <span>

#include "base/result.h"
#include "encoders/encoder.h"

namespace quiver::encoders {

/// RaBitQ codes (encoders/codes/rabitq.h) of `bits` 1 to 8 of rotated rows. Rows should be centred.
[[nodiscard]] EncoderPtr make_rabitq_encoder(Similarity similarity, std::uint32_t dim,
                                             std::uint32_t bits, std::uint64_t seed);

/// 2^bits even steps between `-limit` and `limit`, `bits` 1 to 8; with `limit` 0, between the
/// largest absolute value of the row and its negation.
[[nodiscard]] EncoderPtr make_step_encoder(Similarity similarity, std::uint32_t dim,
                                           std::uint32_t bits, float limit);

/// Product quantization (Jégou et al., TPAMI 2011; as FastScan: André et al., PVLDB 2015): each
/// pair of dimensions is one of 16 points, found by k-means on `sample`, `[n, dim]`; a row's
/// estimates are corrected for the length that its points lose. Same sample and seed, same bits.
/// Fails (kInvalidArgument) if the sample has fewer than 16 rows or values that are not finite.
[[nodiscard]] Result<EncoderPtr> train_product_encoder(Similarity similarity, std::uint32_t dim,
                                                       std::span<const float> sample,
                                                       std::uint64_t seed);

}  // namespace quiver::encoders

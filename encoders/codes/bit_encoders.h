// Codes of few bits in blocks of sixteen rows (`CodeBlocks` in kernels/codes/codes.h), with eight
// bytes of factors a row. Dimensions are padded to a multiple of 32. Benchmarked only; no index
// uses these encoders yet (docs/decisions/0028).
#pragma once

#include <span>

#include "base/result.h"
#include "encoders/encoder.h"

namespace quiver::encoders {

/// RaBitQ codes (encoders/codes/rabitq.h) of rotated rows; `bits` is 1 to 8. Rows should be
/// centred.
[[nodiscard]] EncoderPtr make_rabitq_encoder(Similarity similarity, std::uint32_t dim,
                                             std::uint32_t bits, std::uint64_t seed);

/// Scalar quantization: 2^bits even steps between `-limit` and `limit`; `bits` is 1 to 8. `limit` 0
/// means the largest absolute value of each row.
[[nodiscard]] EncoderPtr make_step_encoder(Similarity similarity, std::uint32_t dim,
                                           std::uint32_t bits, float limit);

/// Product quantization (Jégou et al., TPAMI 2011; scanned as in FastScan: André et al., PVLDB
/// 2015). Each pair of dimensions becomes one of 16 points, found by k-means on `sample`, `[n,
/// dim]`. A row's factor corrects its estimates for the length that the points lose. The same
/// sample and seed give the same bits. Fails (kInvalidArgument) if the sample has fewer than 16
/// rows or values that are not finite.
[[nodiscard]] Result<EncoderPtr> train_product_encoder(Similarity similarity, std::uint32_t dim,
                                                       std::span<const float> sample,
                                                       std::uint64_t seed);

}  // namespace quiver::encoders

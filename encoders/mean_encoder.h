#pragma once

#include <cstdint>
#include <span>

#include "encoders/set_encoder.h"

namespace quiver::encoders {

/// A document becomes the mean of its tokens at unit length, a query the sum of its tokens. The
/// vector has the tokens' dimension, like that of a sentence encoder. Sums are in f64, in order.
class MeanEncoder final : public SetEncoder {
 public:
  explicit MeanEncoder(std::uint32_t token_dim) : SetEncoder(token_dim, token_dim) {}

  /// Vectors have unit length, or are zero if the tokens cancel out.
  void encode_documents(std::span<const TokenSet> documents, float* out) const override;
  void encode_query(const TokenSet& query, float* out) const override;
};

}  // namespace quiver::encoders

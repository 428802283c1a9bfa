#pragma once

#include <cstdint>
#include <span>

#include "encoders/set_encoder.h"

namespace quiver::encoders {

/// A document is the direction of the mean of its tokens, a query is their sum: one vector of the
/// tokens' own dimension, as encoders of sentences make it. Sums are in f64, in order.
class MeanEncoder final : public SetEncoder {
 public:
  explicit MeanEncoder(std::uint32_t token_dim) : SetEncoder(token_dim, token_dim) {}

  /// Of unit length, or zero where tokens cancel out.
  void encode_documents(std::span<const TokenSet> documents, float* out) const override;
  void encode_query(const TokenSet& query, float* out) const override;
};

}  // namespace quiver::encoders

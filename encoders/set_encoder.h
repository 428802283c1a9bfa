// Encoders of token sets: a document's tokens and a query's tokens each become one vector, by
// different maps, such that the scalar product of the two orders documents much as MaxSim does.
// Such a product is no estimate of MaxSim: it is never shown, fused or compared with one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quiver::encoders {

/// Tokens `[n, dim]` one after another, finite.
struct TokenSet {
  const float* values = nullptr;
  std::size_t n = 0;
};

/// Immutable and thread-safe.
class SetEncoder {
 public:
  virtual ~SetEncoder() = default;

  [[nodiscard]] std::uint32_t token_dim() const { return token_dim_; }
  /// Of the vectors that sets become.
  [[nodiscard]] std::uint32_t dim() const { return dim_; }

  /// Writes `[documents.size(), dim()]`; each has a token. Encoders may share work among documents;
  /// a document's vector does not depend on its neighbours.
  virtual void encode_documents(std::span<const TokenSet> documents, float* out) const = 0;
  /// Writes `[dim()]`. Twice the query gives twice the vector.
  virtual void encode_query(const TokenSet& query, float* out) const = 0;

 protected:
  SetEncoder(std::uint32_t token_dim, std::uint32_t dim) : token_dim_(token_dim), dim_(dim) {}

 private:
  std::uint32_t token_dim_;
  std::uint32_t dim_;
};

}  // namespace quiver::encoders

// Encoders of token sets. A document's tokens become one vector and a query's tokens another, by
// different maps. Their scalar product orders documents much as MaxSim does. It is not an estimate
// of MaxSim: it is never shown, fused, or compared with a MaxSim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quiver::encoders {

/// Tokens `[n, dim]`, contiguous and finite.
struct TokenSet {
  const float* values = nullptr;
  std::size_t n = 0;
};

/// Immutable and thread-safe.
class SetEncoder {
 public:
  virtual ~SetEncoder() = default;

  [[nodiscard]] std::uint32_t token_dim() const { return token_dim_; }
  /// Dimension of the vectors that sets become.
  [[nodiscard]] std::uint32_t dim() const { return dim_; }

  /// Writes `[documents.size(), dim()]`. Each document has at least one token. Its vector does not
  /// depend on the other documents, although encoders may share work among them.
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

// One interface for all encodings of single vectors. encoders/README.md says which the product
// uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/kernels.h"

namespace quiver::encoders {

/// Scores rows against one query. Thread-safe. Made by an encoder, which must outlive it.
class Scorer {
 public:
  virtual ~Scorer() = default;

  /// Scores all rows of `n_blocks` consecutive blocks, which start on a 64-byte boundary; writes
  /// `out[0 .. n_blocks * block_rows)`. Scores estimate the scalar product or the negated squared
  /// distance: larger is better.
  virtual void score(const std::byte* blocks, std::size_t n_blocks, float* out) const = 0;
};

/// Keeps vectors as bytes: rows become blocks of one or sixteen rows, and queries are scored
/// against the blocks. Immutable and thread-safe. `similarity` is kDot or kNegL2Squared.
class Encoder {
 public:
  virtual ~Encoder() = default;

  [[nodiscard]] Similarity similarity() const { return similarity_; }
  [[nodiscard]] std::uint32_t dim() const { return dim_; }
  /// Rows of a block, which are stored and scored together.
  [[nodiscard]] virtual std::size_t block_rows() const { return 1; }
  [[nodiscard]] virtual std::size_t block_bytes() const = 0;

  /// `rows` is `[n, dim]`, finite, `n` <= block_rows; writes all of `block`. The missing rows of a
  /// block score any finite value.
  virtual void encode(const float* rows, std::size_t n, std::byte* block) const = 0;
  /// `query` is `[dim]`, finite, and copied.
  [[nodiscard]] virtual std::unique_ptr<Scorer> scorer(const float* query) const = 0;

 protected:
  Encoder(Similarity similarity, std::uint32_t dim) : similarity_(similarity), dim_(dim) {}

  [[nodiscard]] bool is_distance() const { return similarity_ == Similarity::kNegL2Squared; }

 private:
  Similarity similarity_;
  std::uint32_t dim_;
};

using EncoderPtr = std::unique_ptr<const Encoder>;

}  // namespace quiver::encoders

// Codes of a few bits a dimension of vectors around a centre, and how a scan estimates scores from
// them (RaBitQ; see encoders/codes/rabitq.h).
//
// With a centre c, r = x - c and the code's grid point y, <q - c, r> is about f <q - c, y>, where f
// = |r|^2 / <r, y>. Everything that does not depend on the query goes into one number a row, and
// what depends on the query and the centre alone into one number a list:
//
//   dot              <q, x> = <q, c>     + f <q, y>   + (<c, r> - f <c, y>)
//   -|q - x|^2              = -|q - c|^2 + 2 f <q, y> - (|r|^2 + 2 f <c, y>)
//
// so that the tables of a scan belong to the query and are the same for every list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"

namespace quiver::index::dense {

/// Rows of codes in a form that scans read, written one row at a time; one thread.
class BlockWriter {
 public:
  /// `dim`: a multiple of 32. Room for `n_rows` around one centre; rows that are never written are
  /// never found.
  BlockWriter(Similarity similarity, std::uint32_t dim, std::uint32_t n_bits, std::size_t n_rows);

  /// Row `i` is `x`, coded around `centre`, both `[dim]`; `bonus` is added to its estimates.
  void write(std::size_t i, std::span<const float> x, std::span<const float> centre,
             float bonus = 0);
  [[nodiscard]] std::span<const std::byte> bytes() const;
  /// Sum of the rows' squared distances from the centre.
  [[nodiscard]] double squares() const { return squares_; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  [[nodiscard]] std::byte* block_of(std::size_t i);
  void set_factors(std::size_t i, float scale, float add);

  Similarity similarity_;
  std::uint32_t dim_;
  CodeBlocks shape_;
  std::vector<Line> lines_;
  double squares_ = 0;
  std::vector<float> residual_;
  std::vector<std::uint8_t> codes_;
};

struct ByteFactors {
  float scale = 0;   ///< <q, x> is about scale * <q, y>, without bias
  float square = 0;  ///< |x|^2
};

/// Rows of a byte a dimension, or of half a byte: second codes, for a closer look at the rows that
/// a scan finds. With y = u - `middle` a row x is about scale * y. Half bytes lie in groups of 32
/// dimensions, byte i of 16 with dimension i in its low half and 16 + i in the high one.
class ByteWriter {
 public:
  static constexpr std::uint32_t kHalfByteBits = 4;
  static constexpr std::size_t kGroupBytes = 16;

  [[nodiscard]] static constexpr float middle(std::uint32_t n_bits) {
    return static_cast<float>((1U << n_bits) - 1) / 2;
  }
  /// Bytes of a row.
  [[nodiscard]] static constexpr std::size_t stride(std::uint32_t dim, std::uint32_t n_bits) {
    return (std::size_t{dim} * n_bits / 8 + 63) / 64 * 64;
  }

  /// `dim`: a multiple of 32; `n_bits`: 8 or 4. Rows that are never written are zero.
  ByteWriter(std::uint32_t dim, std::uint32_t n_bits, std::size_t n_rows);

  void write(std::size_t i, std::span<const float> x);
  /// `[n_rows, stride(dim, n_bits)]`.
  [[nodiscard]] std::span<const std::uint8_t> codes() const { return codes_; }
  /// `[n_rows]`
  [[nodiscard]] std::span<const ByteFactors> factors() const { return factors_; }

 private:
  void write_halves(const std::uint8_t* values, std::uint8_t* out) const;

  std::uint32_t dim_;
  std::uint32_t n_bits_;
  std::vector<std::uint8_t> codes_;
  std::vector<ByteFactors> factors_;
};

}  // namespace quiver::index::dense

// Writers of the codes that lists scan (RaBitQ, encoders/codes/rabitq.h) and of second codes.
//
// With a centre c, r = x - c, the code's grid point y and f = |r|^2 / <r, y>, a scan estimates <q -
// c, r> by f <q - c, y>. What depends on the row alone is one number per row, what depends on query
// and centre one number per list:
//
//   dot          <q, x>     = <q, c>     + f <q, y>   + (<c, r> - f <c, y>)
//   -|q - x|^2              = -|q - c|^2 + 2 f <q, y> - (|r|^2 + 2 f <c, y>)
//
// So the look-up tables of a scan depend on the query only and serve every list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"

namespace quiver::index::dense {

/// A row's code around a centre: the two numbers of the formulas above, and how far estimates lie
/// from scores.
struct ResidualCode {
  float scale = 0;
  float add = 0;
  double square = 0;    ///< |r|^2
  float deviation = 0;  ///< `RabitqFactors::deviation`
};

/// Codes rows around centres. One thread.
class ResidualCoder {
 public:
  explicit ResidualCoder(Similarity similarity) : similarity_(similarity) {}

  /// Codes `x` around `centre`, both `[dim]`; writes `dim` codes of `n_bits` bits, one a byte. If a
  /// number overflows, `scale` is 0 and `add` the largest float: every search takes the row as a
  /// candidate.
  ResidualCode code(std::span<const float> x, std::span<const float> centre, std::uint32_t n_bits,
                    std::uint8_t* codes);

 private:
  Similarity similarity_;
  std::vector<float> residual_;
};

/// Writes blocks of codes in the layout of scans, row by row; one thread.
class BlockWriter {
 public:
  /// `dim`: a multiple of 32. Room for `n_rows` rows around one centre; a scan never finds rows
  /// that are not written.
  BlockWriter(Similarity similarity, std::uint32_t dim, std::uint32_t n_bits, std::size_t n_rows);

  /// Codes row `i`, `x`, around `centre`, both `[dim]`. `bonus` is added to its estimates.
  void write(std::size_t i, std::span<const float> x, std::span<const float> centre,
             float bonus = 0);
  [[nodiscard]] std::span<const std::byte> bytes() const;
  /// Sum of squared distances of the rows from the centre.
  [[nodiscard]] double squares() const { return squares_; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  [[nodiscard]] std::byte* block_of(std::size_t i);
  void set_factors(std::size_t i, float scale, float add);

  CodeBlocks shape_;
  std::vector<Line> lines_;
  double squares_ = 0;
  ResidualCoder coder_;
  std::vector<std::uint8_t> codes_;
};

struct ByteFactors {
  float scale = 0;   ///< <q, x> ~ scale * <q, y>, unbiased
  float square = 0;  ///< |x|^2
};

/// Writes second codes. With y = code - `middle`, a row x is about scale * y. Half bytes lie in
/// groups of 32 dimensions: byte i of 16 holds dimension i in its low half, 16 + i in the high
/// half.
class ByteWriter {
 public:
  static constexpr std::uint32_t kHalfByteBits = 4;
  static constexpr std::size_t kGroupBytes = 16;

  [[nodiscard]] static constexpr float middle(std::uint32_t n_bits) {
    return static_cast<float>((1U << n_bits) - 1) / 2;
  }
  /// Bytes per row.
  [[nodiscard]] static constexpr std::size_t stride(std::uint32_t dim, std::uint32_t n_bits) {
    return (std::size_t{dim} * n_bits / 8 + 63) / 64 * 64;
  }

  /// `dim`: a multiple of 32; `n_bits`: 8 or 4. Rows that are not written are zero.
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

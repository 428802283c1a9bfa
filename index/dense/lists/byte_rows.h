// Rows of a byte or half a byte a dimension, scored in integers: between the estimates of a scan
// and exact scores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/prefetch.h"
#include "base/result.h"
#include "index/dense/lists/code_writers.h"
#include "index/dense/lists/row_source.h"
#include "index/index.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {

/// A rotated query in bytes. Keeps its memory from one query to the next.
struct ByteQuery {
  std::vector<std::int8_t> values;
  float scale = 0;    ///< a value is about `scale` times its byte
  float sum = 0;      ///< of the bytes
  float squares = 0;  ///< |query|^2

  void set(std::span<const float> query);
};

/// Mapped and immutable; copies share memory.
class ByteRows {
 public:
  /// Codes the rows of `source` with `n_bits` a dimension, 8 or 4; others of the `n_rows` are zero.
  static Result<> write(const RowSource& source, std::uint32_t n_rows, std::uint32_t n_bits,
                        const BuildContext& context, SectionWriter& writer);
  static Result<ByteRows> open(const SectionReader& reader, Similarity similarity,
                               std::uint32_t dim, std::uint32_t n_bits, std::uint32_t n_rows);

  /// Writes the scores of `rows` to `out`, which has room for as many; of 384 dimensions they err
  /// by about a thousandth of the product of lengths, those of 4 bits by a hundredth.
  void score(const ByteQuery& query, std::span<const std::uint32_t> rows, float* out) const;
  /// The standard deviation of the error of a row's score: of values that are off by up to half a
  /// step, independently.
  [[nodiscard]] float deviation(const ByteQuery& query, std::uint32_t row) const;
  void prefetch(std::uint32_t row) const {
    prefetch_line(&factors_[row]);
    prefetch_bytes(codes_.data() + row * stride_, stride_);
  }
  void prefetch_factors(std::uint32_t row) const { prefetch_line(&factors_[row]); }
  [[nodiscard]] std::size_t row_bytes() const { return stride_; }
  [[nodiscard]] std::uint32_t n_bits() const { return n_bits_; }

 private:
  void products(const ByteQuery& query, std::span<const std::uint32_t> rows,
                std::int32_t* out) const;

  Similarity similarity_ = Similarity::kDot;
  std::uint32_t dim_ = 0;
  std::uint32_t n_bits_ = 8;
  std::size_t stride_ = 0;
  SharedBytes codes_;
  SharedSpan<ByteFactors> factors_;
};

}  // namespace quiver::index::dense

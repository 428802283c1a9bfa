// Second codes: rows of one byte or half a byte per dimension, scored in integers. They are more
// exact than the codes that lists scan, and shorter than the rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/prefetch.h"
#include "base/result.h"
#include "gpu/devices.h"
#include "index/dense/lists/code_writers.h"
#include "index/dense/lists/row_source.h"
#include "index/index.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {

/// A rotated query in bytes. Reuses its memory.
struct ByteQuery {
  std::vector<std::int8_t> values;
  float scale = 0;    ///< value = scale * byte, rounded
  float sum = 0;      ///< sum of the bytes
  float squares = 0;  ///< |query|^2
  float lost = 0;     ///< `RotatedQuery::lost`

  void set(std::span<const float> query, float lost_by_reduction = 0);
};

/// Mapped and immutable; copies share memory.
class ByteRows {
 public:
  /// Codes the rows of `source` with `n_bits` bits per dimension, 8 or 4. Rows of the `n_rows` that
  /// have no vector are zero.
  static Result<> write(const RowSource& source, std::uint32_t n_rows, std::uint32_t n_bits,
                        const BuildContext& context, SectionWriter& writer);
  static Result<ByteRows> open(const SectionReader& reader, Similarity similarity,
                               std::uint32_t dim, std::uint32_t n_bits, std::uint32_t n_rows);

  /// Writes the score of each of `rows` to `out`. Error with 384 dimensions, as a share of the
  /// product of lengths: about .001 with 8 bits, .01 with 4.
  void score(const ByteQuery& query, std::span<const std::uint32_t> rows, float* out) const;
  /// The same from the products of all rows.
  void score_products(const ByteQuery& query, std::span<const std::uint32_t> rows,
                      const std::int32_t* products, float* out) const;
  /// Products of the query's bytes and the rows'.
  void products(const ByteQuery& query, std::span<const std::uint32_t> rows,
                std::int32_t* out) const;
  [[nodiscard]] gpu::ByteCodes device_form() const;
  /// Standard deviation of the error of a row's score, if each value is off by up to half a step,
  /// independently.
  [[nodiscard]] float deviation(const ByteQuery& query, std::uint32_t row) const;
  void prefetch(std::uint32_t row) const {
    prefetch_line(&factors_[row]);
    prefetch_bytes(codes_.data() + row * stride_, stride_);
  }
  void prefetch_factors(std::uint32_t row) const { prefetch_line(&factors_[row]); }
  [[nodiscard]] std::size_t row_bytes() const { return stride_; }
  [[nodiscard]] std::uint32_t n_bits() const { return n_bits_; }

 private:
  Similarity similarity_ = Similarity::kDot;
  std::uint32_t dim_ = 0;
  std::uint32_t n_bits_ = 8;
  std::size_t stride_ = 0;
  SharedBytes codes_;
  SharedSpan<ByteFactors> factors_;
};

}  // namespace quiver::index::dense

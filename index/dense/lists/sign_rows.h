// Sign codes: one bit a dimension of every row and its factors, in the order of rows. A search
// whose filter allows few rows reads these instead of lists, and only for the allowed rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/result.h"
#include "index/dense/lists/row_source.h"
#include "index/index.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {

/// Header of the file.
struct SignFacts {
  std::uint32_t padded_dim = 0;
  /// Root mean square over the rows of `RabitqFactors::deviation`: how far an estimate lies from
  /// the score, for a query at distance 1 from the centre.
  float deviation = 0;
  float scale = 0;  ///< root mean square of the rows' `SignFactors::scale`
};

/// A rotated query as planes of bits. Reuses its memory.
struct SignQuery {
  std::vector<std::uint8_t> planes;
  SignQueryView fine;          ///< 4 bits a dimension
  SignQueryView coarse;        ///< 1 bit: faster without AVX-512
  float deviation = 0;         ///< usual error of a fine estimate
  float coarse_deviation = 0;  ///< the same of a coarse one
};

/// Mapped and immutable; copies share memory.
class SignRows {
 public:
  /// Codes the rows of `source` around their mean. Rows of the `n_rows` that have no vector are
  /// zero.
  static Result<> write(const RowSource& source, Similarity similarity, std::uint32_t n_rows,
                        const BuildContext& context, SectionWriter& writer);
  static Result<SignRows> open(const SectionReader& reader, Similarity similarity,
                               std::uint32_t dim, std::uint32_t n_rows);

  /// Bytes of a row: bits and factors, a whole number of cache lines or half a line.
  [[nodiscard]] static std::size_t stride(std::uint32_t dim);
  [[nodiscard]] std::size_t row_bytes() const { return stride(facts_.padded_dim); }
  /// Of all rows.
  [[nodiscard]] std::size_t n_bytes() const { return rows_.size(); }

  void prepare(std::span<const float> rotated, SignQuery& query) const;
  /// Writes the estimate of each of `rows` to `out` (kernels/binary/binary.h). `view`: one of the
  /// query's.
  void score(const SignQueryView& view, std::span<const std::uint32_t> rows, float* out) const;

 private:
  Similarity similarity_ = Similarity::kDot;
  SignFacts facts_;
  SharedSpan<float> centre_;
  SharedBytes rows_;
};

}  // namespace quiver::index::dense

// The forward index: one record a row with its terms and codes of their values, for scoring
// candidates in a few cache lines.
#pragma once

#include <cstdint>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/prefetch.h"
#include "base/result.h"
#include "index/sparse/rows/terms.h"
#include "index/vector_column.h"

namespace quiver::index::sparse {

/// How values are kept in records. kU8 has one scale a column: largest value / 255. kGaps has the
/// values of kU8, and terms as differences: about a quarter less memory, somewhat slower.
enum class Codec : std::uint32_t { kF32 = 0, kF16 = 1, kU8 = 2, kGaps = 3 };

/// Immutable; shares its memory. Terms are kept in 16 bits if fewer than 65,536 numbers are needed,
/// else in 32. A record starts on a cache line: the terms, padded to a multiple of 16 with the
/// number of terms (at which a query's table is 0), then as many values. Of kGaps it is what
/// `RecordKernels::score_gaps` wants: steps of 0 pad it, and steps of value 0 bridge differences
/// beyond 16 bits.
class Records {
 public:
  [[nodiscard]] static Records build(const SparseColumn& column, std::uint32_t n_rows,
                                     const TermMap& terms, Codec codec);
  void write(SectionWriter& out) const;
  [[nodiscard]] static Result<Records> open(const SectionReader& in, std::uint32_t n_rows,
                                            std::uint32_t n_terms);

  /// Sum over the terms of the row of `table[term]` times its value as coded. `table`: `[n_terms +
  /// 1]`, 0 where the query has no weight, and at the end.
  [[nodiscard]] float score(const float* table, std::uint32_t row) const;
  /// Fetches the line that says where the record is, then the record itself.
  void prefetch_place(std::uint32_t row) const { prefetch_line(places_.data() + row); }
  void prefetch(std::uint32_t row) const;

  [[nodiscard]] Codec codec() const { return codec_; }
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Place {
    std::uint32_t line = 0;      ///< of 64 bytes
    std::uint32_t n_padded = 0;  ///< terms
  };

  [[nodiscard]] const std::byte* record(const Place& place) const {
    return lines_.data() + std::size_t{place.line} * 64;
  }
  [[nodiscard]] std::size_t bytes_of(std::uint32_t row) const;
  /// Whether the record is within the lines; of kGaps, with all of its steps.
  [[nodiscard]] bool is_in_place(std::uint32_t row) const;
  /// Of a record in its place.
  [[nodiscard]] std::uint64_t largest_term(std::uint32_t row) const;

  Codec codec_ = Codec::kU8;
  bool wide_ = false;
  float scale_ = 1;
  SharedSpan<Place> places_;
  SharedBytes lines_;
};

}  // namespace quiver::index::sparse

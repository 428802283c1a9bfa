// The forward index: one record per row with its terms and coded values, to score candidates in a
// few cache lines.
#pragma once

#include <cstdint>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/prefetch.h"
#include "base/result.h"
#include "index/sparse/rows/terms.h"
#include "index/vector_column.h"

namespace quiver::index::sparse {

/// Codec of record values. kU8: one scale per column, largest value / 255. kGaps: values as kU8,
/// terms as differences; 3/4 of the memory, slower.
enum class Codec : std::uint32_t { kF32 = 0, kF16 = 1, kU8 = 2, kGaps = 3 };

/// Immutable; shares its memory. Whatever changes in the file after opening, nothing outside of it
/// is read: such records have any score that is a number. Term numbers take 16 bits if fewer than
/// 65,536 numbers are needed, else 32. A record starts on a cache line: the terms, padded to a
/// multiple of 16 with the number of terms (where a query's table is 0), then the values. kGaps has
/// the layout of `RecordKernels::score_gaps`: padding are steps of 0, and steps with value 0 bridge
/// differences beyond 16 bits.
class Records {
 public:
  [[nodiscard]] static Records build(const SparseColumn& column, std::uint32_t n_rows,
                                     const TermMap& terms, Codec codec);
  void write(SectionWriter& out) const;
  [[nodiscard]] static Result<Records> open(const SectionReader& in, std::uint32_t n_rows,
                                            std::uint32_t n_terms);

  /// Sum over the row's terms of table[term] * coded value; 0 if that is no number. `table`:
  /// `[n_terms + 1]`, 0 where the query has no weight and at the end.
  [[nodiscard]] float score(const float* table, std::uint32_t row) const;
  /// Prefetches where the record is, and then the record.
  void prefetch_place(std::uint32_t row) const { prefetch_line(places_.data() + row); }
  void prefetch(std::uint32_t row) const;

  [[nodiscard]] Codec codec() const { return codec_; }
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Place {
    std::uint32_t line = 0;      ///< first cache line of the record
    std::uint32_t n_padded = 0;  ///< terms with padding
  };

  [[nodiscard]] const std::byte* record(const Place& place) const {
    return lines_.data() + std::size_t{place.line} * 64;
  }
  [[nodiscard]] std::size_t bytes_of(std::uint32_t row) const;
  /// True if the record is within `lines_`; for kGaps, all of its steps and no byte of the next.
  [[nodiscard]] bool is_in_place(std::uint32_t row) const;
  /// True if a record may be there.
  [[nodiscard]] bool is_inside(const Place& place) const;
  [[nodiscard]] float score_gaps(const float* table, const Place& place) const;
  /// Largest term number; only if `is_in_place`.
  [[nodiscard]] std::uint64_t largest_term(std::uint32_t row) const;

  Codec codec_ = Codec::kU8;
  bool wide_ = false;
  float scale_ = 1;
  std::uint32_t n_terms_ = 0;
  SharedSpan<Place> places_;
  SharedBytes lines_;
};

}  // namespace quiver::index::sparse

// The largest components of each row, in a few cache lines: their score tells whether the whole
// record is worth reading. Formats and parameters call them heads.
#pragma once

#include <cstdint>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/prefetch.h"
#include "base/result.h"
#include "index/sparse/rows/coded_rows.h"

namespace quiver::index::sparse {

/// Immutable; shares its memory. Every row has the same size: `n` terms (u16 if there are fewer
/// than 65,536 terms, else u32), then `n` codes. Rows with fewer components are padded with the
/// number of terms, where a query's table is 0.
class TopComponents {
 public:
  TopComponents() = default;
  /// Keeps `n` components per row, rounded up to a multiple of 32. 0: none.
  [[nodiscard]] static TopComponents build(const CodedRows& rows, std::uint32_t n);
  /// Sections 46 and 47.
  void write(SectionWriter& out) const;
  [[nodiscard]] static Result<TopComponents> open(const SectionReader& in, std::uint32_t n_rows,
                                                  std::uint32_t n_terms);

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// The part of the record's score that the top components give.
  [[nodiscard]] float score(const float* table, std::uint32_t row) const;
  void prefetch(std::uint32_t row) const { prefetch_bytes(bytes_.data() + row * stride_, stride_); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.size(); }
  [[nodiscard]] std::size_t bytes_per_row() const { return stride_; }

 private:
  void set_shape(std::uint32_t n, std::uint32_t n_terms);

  std::uint32_t n_ = 0;
  std::uint32_t n_terms_ = 0;
  bool wide_ = false;
  float scale_ = 1;
  std::size_t stride_ = 0;
  SharedBytes bytes_;
};

}  // namespace quiver::index::sparse

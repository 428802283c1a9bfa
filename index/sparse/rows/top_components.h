// Heads: the largest components of each row, in a few cache lines that tell whether the whole
// record is worth reading.
#pragma once

#include <cstdint>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/prefetch.h"
#include "base/result.h"
#include "index/sparse/rows/coded_rows.h"

namespace quiver::index::sparse {

/// Immutable; shares its memory. All heads have the same size: `n` terms, u16 if there are fewer
/// than 65,536 of them, else u32, then as many codes. Rows of fewer components are filled up with
/// the number of terms, at which a query's table is 0.
class TopComponents {
 public:
  TopComponents() = default;
  /// `n` is rounded up to a multiple of 32; 0: no heads.
  [[nodiscard]] static TopComponents build(const CodedRows& rows, std::uint32_t n);
  /// Sections 46 and 47.
  void write(SectionWriter& out) const;
  [[nodiscard]] static Result<TopComponents> open(const SectionReader& in, std::uint32_t n_rows,
                                                  std::uint32_t n_terms);

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// Of a row's record, what its head adds up to.
  [[nodiscard]] float score(const float* table, std::uint32_t row) const;
  void prefetch(std::uint32_t row) const { prefetch_bytes(bytes_.data() + row * stride_, stride_); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.size(); }
  [[nodiscard]] std::size_t bytes_per_row() const { return stride_; }

 private:
  void set_shape(std::uint32_t n, std::uint32_t n_terms);

  std::uint32_t n_ = 0;
  bool wide_ = false;
  float scale_ = 1;
  std::size_t stride_ = 0;
  SharedBytes bytes_;
};

}  // namespace quiver::index::sparse

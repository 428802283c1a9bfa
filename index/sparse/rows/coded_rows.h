// Rows with term numbers and byte codes, from which blocks are built.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/prefetch.h"
#include "index/sparse/rows/terms.h"
#include "index/vector_column.h"

namespace quiver::index::sparse {

/// Largest code of a value.
inline constexpr float kLargestCode = 255;

/// Code = absolute value / scale, rounded up, with one scale for all rows. So the largest code of
/// some rows is the code of their largest value, and summaries are never below the values they
/// stand for. Memory: 5 bytes per non-zero, and 5 for each of the `n_strongest` largest codes of a
/// row.
class CodedRows {
 public:
  /// Terms ascend; in `strongest` codes descend instead.
  struct Row {
    std::span<const std::uint32_t> terms;
    std::span<const std::uint8_t> codes;
  };

  CodedRows(const SparseColumn& column, std::uint32_t n_rows, const TermMap& terms,
            std::uint32_t n_strongest);

  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }
  [[nodiscard]] std::uint32_t n_terms() const { return n_terms_; }
  [[nodiscard]] float scale() const { return scale_; }
  [[nodiscard]] Row row(std::uint32_t i) const {
    return part(terms_, codes_, offsets_[i], offsets_[i + 1]);
  }
  /// Prefetches all of `row(i)`.
  void prefetch(std::uint32_t i) const {
    for (std::uint64_t at = offsets_[i]; at < offsets_[i + 1]; at += 16) {
      prefetch_line(terms_.data() + at);
      if (at % 64 < 16) prefetch_line(codes_.data() + at);
    }
  }
  void prefetch_strongest(std::uint32_t i) const {
    prefetch_line(strong_terms_.data() + strong_offsets_[i]);
    prefetch_line(strong_codes_.data() + strong_offsets_[i]);
  }
  /// The components with the largest codes; ties by position.
  [[nodiscard]] Row strongest(std::uint32_t i) const {
    return part(strong_terms_, strong_codes_, strong_offsets_[i], strong_offsets_[i + 1]);
  }

 private:
  static Row part(const std::vector<std::uint32_t>& terms, const std::vector<std::uint8_t>& codes,
                  std::uint64_t begin, std::uint64_t end) {
    return {std::span(terms).subspan(begin, end - begin),
            std::span(codes).subspan(begin, end - begin)};
  }
  void find_strongest(std::uint32_t n_strongest);

  std::uint32_t n_rows_ = 0;
  std::uint32_t n_terms_ = 0;
  float scale_ = 1;
  /// A copy: builds read offsets repeatedly, and must see the same values even if the file is
  /// damaged meanwhile (base/io/mapped_region.h).
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint32_t> terms_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint64_t> strong_offsets_;
  std::vector<std::uint32_t> strong_terms_;
  std::vector<std::uint8_t> strong_codes_;
};

}  // namespace quiver::index::sparse

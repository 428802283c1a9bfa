// Rows as blocks are built from them: term numbers, and values as bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/prefetch.h"
#include "index/sparse/rows/terms.h"
#include "index/vector_column.h"

namespace quiver::index::sparse {

/// Of values as bytes.
inline constexpr float kLargestCode = 255;

/// A code is the absolute value in units of one scale for all, rounded up: the largest code of some
/// rows is the code of their largest value, so that summaries are maxima of codes and never below
/// the values they stand for. Zero has code 0. 5 bytes a non-zero, and 5 bytes for each of the
/// `n_strongest` largest codes of a row.
class CodedRows {
 public:
  /// Terms ascending, except in `strongest`: codes descending there.
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
  /// Fetches all of `row(i)`.
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
  /// The terms of the largest codes, ties by place.
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
  /// A copy: builds look at them often, and must see the same if the file is damaged meanwhile
  /// (base/io/mapped_region.h).
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint32_t> terms_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint64_t> strong_offsets_;
  std::vector<std::uint32_t> strong_terms_;
  std::vector<std::uint8_t> strong_codes_;
};

}  // namespace quiver::index::sparse

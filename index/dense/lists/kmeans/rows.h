// Rows as bytes, for k-means. Eight bits per value hardly change the nearest centroid and take a
// quarter of the memory. Sums of bytes are exact, so no order of adding shows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "index/index.h"
#include "index/parallel.h"

namespace quiver::index::dense {

/// Writes row `row`, `[dim]`, as it is clustered (rotated, normalised). Any thread may call it, in
/// any order, more than once.
using RowReader = std::function<void(std::uint32_t row, float* out)>;

/// `n` numbers of [0, n_of), ascending: one from each of n equal parts. n <= n_of.
[[nodiscard]] std::vector<std::uint32_t> spread(std::uint32_t n, std::uint32_t n_of,
                                                std::uint64_t seed);

/// Code u stands for `middle + step * (u - 127.5)`; values beyond are clipped.
class ByteGrid {
 public:
  /// A grid around the middle of the sample, wide enough for 99 % of its rows.
  ByteGrid(const RowReader& rows, std::span<const std::uint32_t> sample, std::uint32_t dim);

  [[nodiscard]] std::uint32_t dim() const { return static_cast<std::uint32_t>(middle_.size()); }
  /// Reads a row and writes its codes, `[dim]`. `buffer`: room for `[dim]`.
  void encode(const RowReader& rows, std::uint32_t row, float* buffer, std::uint8_t* codes) const;
  /// Converts `[dim]` values to units of codes (0: the middle), and back.
  void to_codes(const float* values, float* out) const;
  void from_codes(const float* codes, float* out) const;

 private:
  std::vector<float> middle_;
  float limit_ = 0;
  float step_ = 0;
  float scale_ = 0;  // 1 / step_; 0 if all rows are equal
};

/// Borrowed codes, `[n, dim]`.
struct ByteView {
  const std::uint8_t* codes;
  std::size_t n;
  std::uint32_t dim;

  [[nodiscard]] const std::uint8_t* at(std::size_t i) const { return codes + i * dim; }
};

/// Owned codes, `[n, dim]`.
class ByteMatrix {
 public:
  ByteMatrix(std::size_t n, std::uint32_t dim)
      : n_(n), dim_(dim), codes_(std::make_unique_for_overwrite<std::uint8_t[]>(n * dim)) {}

  [[nodiscard]] std::size_t n() const { return n_; }
  [[nodiscard]] std::uint32_t dim() const { return dim_; }
  [[nodiscard]] std::uint8_t* at(std::size_t i) { return codes_.get() + i * dim_; }
  [[nodiscard]] ByteView view(std::size_t first, std::size_t n) const {
    return {codes_.get() + first * dim_, n, dim_};
  }
  [[nodiscard]] ByteView view() const { return view(0, n_); }

 private:
  std::size_t n_;
  std::uint32_t dim_;
  std::unique_ptr<std::uint8_t[]> codes_;
};

/// Value of a code in units of codes; 0: the middle.
[[nodiscard]] inline float value_of(std::uint8_t code) { return static_cast<float>(code) - 127.5f; }

/// The rows of each list, ascending.
struct Members {
  std::vector<std::uint32_t> offsets;  ///< `[n_lists + 1]`
  std::vector<std::uint32_t> rows;

  Members(std::span<const std::uint32_t> list_of, std::size_t n_lists);
  [[nodiscard]] std::size_t n_lists() const { return offsets.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t list) const {
    return {rows.data() + offsets[list], rows.data() + offsets[list + 1]};
  }
};

/// Writes the mean of `members`, at least one, in units of codes, `[dim]`.
void mean_of(const ByteView& rows, std::span<const std::uint32_t> members, float* mean);

}  // namespace quiver::index::dense

// Rows of a dense column as the index sees them: f32, of unit length under Cosine, transformed.
// Rows with a vector are numbered from 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "index/dense/lists/row_transform.h"
#include "index/index.h"
#include "index/vector_column.h"

namespace quiver::index::dense {

/// Any number of threads. Borrows the column and the transform.
class RowSource {
 public:
  RowSource(const FieldColumn& column, const RowTransform& transform);

  /// Transforms all rows and keeps them, if no more than half of the memory limit is used then: for
  /// builds that read each row many times. Before any other thread reads.
  void keep(const BuildContext& context);

  [[nodiscard]] std::uint32_t dim() const { return transform_.padded_dim(); }
  [[nodiscard]] const RowTransform& transform() const { return transform_; }
  /// Writes the `i`-th row that has a vector to `out`, `[dim()]`.
  void read(std::uint32_t i, float* out) const;
  /// The `i`-th row: a kept one, else `buffer`, `[dim()]`, to which it is written.
  [[nodiscard]] const float* view(std::uint32_t i, float* buffer) const {
    if (!kept_.empty()) return &kept_[std::size_t{i} * dim()];
    read(i, buffer);
    return buffer;
  }
  /// The rows that `keep` kept, `[n(), dim()]`, or empty.
  [[nodiscard]] std::span<const float> kept() const { return kept_; }
  /// Fetches what `read` of the row needs.
  void prefetch(std::uint32_t i) const;
  /// The same row as the transform maps a query.
  void read_as_query(std::uint32_t i, float* out) const;
  [[nodiscard]] std::uint32_t n() const { return static_cast<std::uint32_t>(rows_.size()); }
  /// Writes the `i`-th row before its transform to `out`, `[column().dense().dim]`.
  void read_normal(std::uint32_t i, float* out) const;
  /// Writes the stored values to `out`, `[column().dense().dim]`.
  void read_stored(std::uint32_t i, float* out) const;
  [[nodiscard]] const FieldColumn& column() const { return column_; }
  /// Row of the column.
  [[nodiscard]] std::uint32_t row(std::uint32_t i) const { return rows_[i]; }
  [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_; }
  /// Number here of each row of the column; 0 for rows without a vector.
  [[nodiscard]] std::vector<std::uint32_t> numbers() const;

 private:
  const FieldColumn& column_;
  const RowTransform& transform_;
  bool normalise_;
  std::vector<std::uint32_t> rows_;
  std::vector<float> kept_;  ///< `[n, dim]`, or empty
};

/// Euclidean lengths of up to 1,000 rows, spread over the source.
[[nodiscard]] std::vector<double> sampled_lengths(const RowSource& source);

/// Rows `[first, end)` of the column; `[begin, next)` are those of the source among them.
struct RowBlock {
  std::uint32_t first = 0, end = 0;
  std::uint32_t begin = 0, next = 0;
};

/// Calls `visit(block)` for blocks of up to `n_block` of the column's `n_rows` rows, in order.
/// Polls `context.cancel`, and reports rows.
template <class Visit>
Result<> for_each_block(const RowSource& source, std::uint32_t n_rows, std::uint32_t n_block,
                        const BuildContext& context, Visit&& visit) {
  RowBlock block;
  for (; block.first < n_rows; block.first = block.end, block.begin = block.next) {
    QV_TRY(context.cancel.check());
    block.end = block.first + std::min(n_block, n_rows - block.first);
    while (block.next < source.n() && source.row(block.next) < block.end) ++block.next;
    visit(block);
    if (context.progress) context.progress(block.end);
  }
  return {};
}

}  // namespace quiver::index::dense

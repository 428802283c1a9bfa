// Exact scores of dense queries against dense rows, for one query and for tiles of them, to the
// same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/column.h"
#include "index/flat/scan.h"
#include "index/query.h"
#include "kernels/kernels.h"

namespace quiver::index {

/// u8 rows cannot be stored at unit length, so under Cosine they are brought to it at search.
class RowNorms {
 public:
  RowNorms(const Query& query, const DenseColumn& column);
  /// Divides the score of row `row` by the row's length if that is asked for.
  void apply(std::uint32_t row, float& score) const;
  [[nodiscard]] bool wanted() const { return wanted_; }

 private:
  MatrixView rows_;
  bool wanted_;
};

class DenseScorer {
 public:
  DenseScorer(const Query& query, const DenseColumn& column);
  void score_run(std::uint32_t first, std::span<float> out) const;
  void score_rows(std::span<const std::uint32_t> rows, std::span<float> out) const;
  [[nodiscard]] std::size_t bytes_per_row() const { return rows_.stride_bytes; }

 private:
  const float* query_;
  MatrixView rows_;
  DenseKernels kernels_;
  RowNorms norms_;
};

/// Up to kTileQueries queries on one pass over the rows. A TileScorer.
class DenseTile {
 public:
  DenseTile(std::span<const Query* const> queries, const DenseColumn& column);

  [[nodiscard]] std::size_t n_queries() const { return n_queries_; }
  void score_run(std::uint32_t first, std::uint32_t n, BlockScores& out) const;
  void score_rows(std::span<const std::uint32_t> rows, BlockScores& out) const;
  [[nodiscard]] std::size_t bytes_per_row() const { return rows_.stride_bytes; }
  [[nodiscard]] std::size_t cost_per_row() const;

 private:
  /// A cache line of values: queries start on line boundaries.
  struct alignas(64) Line {
    float values[16] = {};
  };
  [[nodiscard]] QueryTile<float> queries() const;
  template <class RowOf>
  void apply_norms(std::size_t n, RowOf row_of, BlockScores& out) const;

  std::size_t n_queries_;
  std::size_t lines_per_query_;
  std::vector<Line> values_;
  MatrixView rows_;
  DenseKernels kernels_;
  RowNorms norms_;
};

}  // namespace quiver::index

// Exact scores of dense queries against dense rows. One query and a tile of several give the same
// bits.
//
// u8 rows and a query of whole numbers in [0, 255] are scored in integers and rounded once at the
// end. Any other query is scored in f32. The query alone decides which.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "index/exact/scan.h"
#include "index/prepared_query.h"
#include "index/stored_rows.h"
#include "index/vector_column.h"
#include "kernels/kernels.h"

namespace quiver::index {

/// Vectors of up to kTileQueries queries, each on a cache line boundary. A single one is not
/// copied.
template <class Value>
class TiledQueries {
 public:
  /// `vectors` outlive this and have the same length.
  explicit TiledQueries(std::span<const std::span<const Value>> vectors);
  [[nodiscard]] const QueryTile<Value>& tile() const { return tile_; }

 private:
  struct alignas(64) Line {
    std::array<Value, 64 / sizeof(Value)> values = {};
  };
  std::vector<Line> lines_;
  QueryTile<Value> tile_;
};

/// Rows of a dense column with their kernels, for runs of rows and for lists of rows. `Score` is
/// float or uint32.
template <class Value, class Score>
class DenseRowKernels {
 public:
  DenseRowKernels(const MatrixView& rows, const RowKernels<Value, Score>& kernels)
      : rows_(rows), kernels_(kernels) {}

  /// Writes the score of query j and the i-th row to `out[j * kBlockRows + i]`.
  void score_run(const QueryTile<Value>& queries, std::uint32_t first, std::uint32_t n,
                 Score* out) const {
    if (queries.n == 1) {
      kernels_.many(queries.first, rows_.dim, rows_.row(first), rows_.stride_bytes, n, out);
    } else {
      kernels_.tile(queries, rows_.dim, rows_.row(first), rows_.stride_bytes, n, {out, kBlockRows});
    }
  }
  void score_rows(const QueryTile<Value>& queries, std::span<const std::uint32_t> rows,
                  Score* out) const {
    if (queries.n == 1) {
      kernels_.gather(queries.first, rows_.dim, rows_.data, rows_.stride_bytes, rows.data(),
                      rows.size(), out);
    } else {
      kernels_.tile_gather(queries, rows_.dim, rows_.data, rows_.stride_bytes, rows.data(),
                           rows.size(), {out, kBlockRows});
    }
  }
  [[nodiscard]] const MatrixView& view() const { return rows_; }

 private:
  MatrixView rows_;
  const RowKernels<Value, Score>& kernels_;
};

/// Squared lengths of u8 rows, for Cosine: u8 rows are not stored at unit length.
class RowLengths {
 public:
  RowLengths(const FieldSchema& schema, const DenseColumn& column);
  /// False if the field needs none: the other functions then do nothing.
  [[nodiscard]] bool wanted() const { return !zero_.empty(); }
  void of_run(std::uint32_t first, std::uint32_t n, std::uint32_t* squares) const;
  void of_rows(std::span<const std::uint32_t> rows, std::uint32_t* squares) const;

 private:
  std::vector<std::uint8_t> zero_;  ///< zero vector: the distance from it is the length
  DenseRowKernels<std::uint8_t, std::uint32_t> rows_;
};

/// TileScorer in f32. Borrows the queries.
class DenseScorer {
 public:
  DenseScorer(std::span<const PreparedQuery* const> queries, const DenseColumn& column);

  [[nodiscard]] std::size_t n_queries() const { return queries_.tile().n; }
  void score_run(std::uint32_t first, std::uint32_t n, BlockScores& out) const;
  void score_rows(std::span<const std::uint32_t> rows, BlockScores& out) const;
  [[nodiscard]] std::size_t bytes_per_row() const { return rows_.view().stride_bytes; }
  [[nodiscard]] std::size_t cost_per_row() const;

 private:
  void divide(std::span<const std::uint32_t> squares, BlockScores& out) const;

  TiledQueries<float> queries_;
  DenseRowKernels<float, float> rows_;
  RowLengths lengths_;
};

/// TileScorer in integers, for queries with `bytes()`. Borrows the queries.
class DenseByteScorer {
 public:
  DenseByteScorer(std::span<const PreparedQuery* const> queries, const DenseColumn& column);

  [[nodiscard]] std::size_t n_queries() const { return queries_.tile().n; }
  void score_run(std::uint32_t first, std::uint32_t n, BlockScores& out) const;
  void score_rows(std::span<const std::uint32_t> rows, BlockScores& out) const;
  [[nodiscard]] std::size_t bytes_per_row() const { return rows_.view().stride_bytes; }
  [[nodiscard]] std::size_t cost_per_row() const { return bytes_per_row() * (1 + n_queries() / 4); }

 private:
  using Sums = std::array<std::uint32_t, kTileQueries * kBlockRows>;
  void finish(std::size_t n, const Sums& sums, const std::uint32_t* squares,
              BlockScores& out) const;

  TiledQueries<std::uint8_t> queries_;
  std::array<std::uint32_t, kTileQueries> query_squares_ = {};  ///< squared lengths, under Cosine
  bool is_distance_;
  DenseRowKernels<std::uint8_t, std::uint32_t> rows_;
  RowLengths lengths_;
};

/// TileScorer of codes: some become f32 at a time. Borrows the queries.
class DenseCodeScorer {
 public:
  DenseCodeScorer(std::span<const PreparedQuery* const> queries, const DenseColumn& column);

  [[nodiscard]] std::size_t n_queries() const { return queries_.tile().n; }
  void score_run(std::uint32_t first, std::uint32_t n, BlockScores& out) const;
  void score_rows(std::span<const std::uint32_t> rows, BlockScores& out) const;
  [[nodiscard]] std::size_t bytes_per_row() const { return rows_.stride_bytes; }
  [[nodiscard]] std::size_t cost_per_row() const {
    return exact_row_cost(schema_) * (1 + n_queries() / 4);
  }

 private:
  template <class RowOf>
  void score(std::size_t n, RowOf row_of, BlockScores& out) const;

  const FieldSchema& schema_;
  TiledQueries<float> queries_;
  MatrixView rows_;
  const DenseKernels& kernels_;
};

static_assert(TileScorer<DenseScorer> && TileScorer<DenseByteScorer> &&
              TileScorer<DenseCodeScorer>);

}  // namespace quiver::index

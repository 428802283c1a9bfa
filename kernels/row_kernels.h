// The functions that every family over fixed-size rows has (dense, bytes, binary).
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// Prepared queries that share one pass over the rows: query j at `first + j * stride`.
template <class Query>
struct QueryTile {
  const Query* first = nullptr;
  std::size_t stride = 0;
  std::size_t n = 0;  ///< any number; 8 are fastest
};

/// Scores of a tile: query j and row i at `first[j * stride + i]`.
template <class Score>
struct ScoreTile {
  Score* first = nullptr;
  std::size_t stride = 0;
};

/// Five forms of one similarity. All give a (query, row) pair the same bits. A row is `dim` values
/// at any byte alignment (64 is fastest). Nothing is read beyond `dim` values of query or row.
template <class Query, class Score>
struct RowKernels {
  Score (*one)(const Query* query, std::uint32_t dim, const std::byte* row);
  /// Row i at `rows + i * stride_bytes`; writes `out[0 .. n)`.
  void (*many)(const Query* query, std::uint32_t dim, const std::byte* rows,
               std::size_t stride_bytes, std::size_t n, Score* out);
  /// Row `ids[i]` at `base + ids[i] * stride_bytes`; writes `out[0 .. n)`. Prefetches ahead.
  void (*gather)(const Query* query, std::uint32_t dim, const std::byte* base,
                 std::size_t stride_bytes, const std::uint32_t* ids, std::size_t n, Score* out);
  /// Like `many`, for several queries in one pass over the rows.
  void (*tile)(const QueryTile<Query>& queries, std::uint32_t dim, const std::byte* rows,
               std::size_t stride_bytes, std::size_t n, const ScoreTile<Score>& out);
  /// Like `gather`, for several queries in one pass over the rows.
  void (*tile_gather)(const QueryTile<Query>& queries, std::uint32_t dim, const std::byte* base,
                      std::size_t stride_bytes, const std::uint32_t* ids, std::size_t n,
                      const ScoreTile<Score>& out);
};

}  // namespace quiver

// Dot products of sparse vectors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// Lowest ten bits of the query's indices, as a bitmap. It rules out most entries of a row without
/// a look-up.
struct SparseFilter {
  std::uint32_t words[32] = {};

  void add(std::uint32_t index) { words[index / 32 % 32] |= 0x80000000u >> (index % 32); }
};

/// A prepared sparse query, which borrows its arrays. Indices are strictly ascending, values
/// finite.
struct SparseQuery {
  /// The form in which a query keeps a value: zero becomes -0, because +0 bits mean "not there".
  [[nodiscard]] static constexpr float stored(float value) { return value == 0.0f ? -0.0f : value; }

  const std::uint32_t* indices = nullptr;
  const float* values = nullptr;  ///< results of `stored`
  std::size_t n = 0;
  /// `[dim + 1]`: each value at its index, +0 elsewhere; the last +0 stands for all larger indices.
  /// nullptr if not worth its memory: `values` are looked up instead, with the same bits.
  const float* scattered = nullptr;
  std::uint32_t dim = 0;  ///< above every index, below 2^31
  SparseFilter filter;    ///< `indices`
};

/// Compressed sparse rows: row i has entries `[offsets[i], offsets[i + 1])`. Indices are strictly
/// ascending within a row, values finite.
struct CsrRows {
  const std::uint64_t* offsets;
  const std::uint32_t* indices;
  const float* values;
};

/// A row that shares no index with the query scores NaN. Entry j of a row always adds to partial
/// sum j mod 16. A zero product is +0.
struct SparseKernels {
  /// Rows `first, first + 1, ...`; writes `out[0 .. n)`.
  void (*many)(const SparseQuery& query, const CsrRows& rows, std::size_t first, std::size_t n,
               float* out);
  /// Rows `ids[i]`; writes `out[0 .. n)`. Prefetches ahead.
  void (*gather)(const SparseQuery& query, const CsrRows& rows, const std::uint32_t* ids,
                 std::size_t n, float* out);
};

}  // namespace quiver

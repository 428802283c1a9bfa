// The stored vectors of one field of one segment, in memory or mapped. Indexes are built from them,
// and candidates are scored exactly against them. Row numbers are LocalIds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "base/io/shared_span.h"
#include "base/schema.h"
#include "base/views.h"

namespace quiver::index {

/// `[n_rows, dim]`, rows padded to 64 bytes; absent rows are zero.
struct DenseColumn {
  SharedBytes bytes;
  std::uint32_t dim = 0;
  DType dtype = DType::kF32;

  [[nodiscard]] std::size_t stride() const { return padded_row_bytes(dim, dtype); }
  [[nodiscard]] MatrixView rows() const {
    return {bytes.data(), bytes.size() / stride(), dim, dtype, stride()};
  }
};

/// Compressed sparse rows: row i has entries `[offsets[i], offsets[i + 1])`.
struct SparseColumn {
  SharedSpan<std::uint64_t> offsets;  ///< `[n_rows + 1]`
  SharedSpan<std::uint32_t> indices;
  SharedSpan<float> values;

  [[nodiscard]] SparseView row(std::size_t i) const {
    const std::uint64_t first = offsets[i];
    const std::uint64_t end = offsets[i + 1];
    return {part_of(indices.span(), first, end), part_of(values.span(), first, end)};
  }
};

/// Ragged rows of tokens: row i has tokens `[offsets[i], offsets[i + 1])`, each padded to 64 bytes.
struct MultiColumn {
  SharedSpan<std::uint64_t> offsets;  ///< `[n_rows + 1]`
  DenseColumn tokens;

  [[nodiscard]] MatrixView row(std::size_t i) const {
    const std::size_t stride = tokens.stride();
    const std::uint64_t first = offsets[i];
    const std::uint64_t end = offsets[i + 1];
    const std::size_t n_bytes = tokens.bytes.size();
    // Offsets may be damaged after they were checked. The first comparison keeps the product small.
    const bool is_inside = first <= end && end <= n_bytes && end * stride <= n_bytes;
    return {tokens.bytes.data() + (is_inside ? first * stride : 0), is_inside ? end - first : 0,
            tokens.dim, tokens.dtype, stride};
  }
};

struct FieldColumn {
  FieldSchema schema;
  std::uint32_t n_rows = 0;
  SharedSpan<std::uint8_t> present;  ///< `[n_rows]`, 1 where the point has this vector
  std::uint32_t n_present = 0;
  std::variant<DenseColumn, SparseColumn, MultiColumn> values;

  [[nodiscard]] const DenseColumn& dense() const { return std::get<DenseColumn>(values); }
  [[nodiscard]] const SparseColumn& sparse() const { return std::get<SparseColumn>(values); }
  [[nodiscard]] const MultiColumn& multi() const { return std::get<MultiColumn>(values); }
  [[nodiscard]] bool all_present() const { return n_present == n_rows; }
};

}  // namespace quiver::index

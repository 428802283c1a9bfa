// Borrowed vectors. A view must not outlive the memory it was made from.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/schema.h"

namespace quiver {

/// `[n_rows, dim]` values of `dtype`, with row i at `data + i * stride_bytes`. Rows that we store
/// start on 64-byte boundaries and are zero-padded to a multiple of 64 bytes; codes (`is_code`),
/// to a multiple of 4 bytes.
struct MatrixView {
  const std::byte* data = nullptr;
  std::size_t n_rows = 0;
  std::uint32_t dim = 0;
  DType dtype = DType::kF32;
  std::size_t stride_bytes = 0;

  [[nodiscard]] const std::byte* row(std::size_t i) const { return data + i * stride_bytes; }
  [[nodiscard]] const float* row_f32(std::size_t i) const {
    return reinterpret_cast<const float*>(row(i));
  }
};

/// Bytes of a stored row of `dim` values, padded to a multiple of 64 (codes: 4).
[[nodiscard]] constexpr std::size_t padded_row_bytes(std::uint32_t dim, DType dtype) {
  const std::size_t unit = is_code(dtype) ? 4 : 64;
  return (vector_bytes(dim, dtype) + unit - 1) / unit * unit;
}

/// Length of `[begin, end)`; 0 if `end < begin`. Offsets in a mapped file may become zeros between
/// two reads (base/io/mapped_region.h), and a reader must stay in bounds.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T length_between(T begin, T end) {
  return begin < end ? static_cast<T>(end - begin) : T{0};
}

/// What `values` has of `[begin, end)`: offsets may be damaged after they were checked.
template <class T>
[[nodiscard]] constexpr std::span<T> part_of(std::span<T> values, std::uint64_t begin,
                                             std::uint64_t end) {
  if (begin >= values.size()) return {};
  return values.subspan(begin, length_between(begin, end < values.size() ? end : values.size()));
}

/// `indices` ascend strictly; `values` has the same length.
struct SparseView {
  std::span<const std::uint32_t> indices;
  std::span<const float> values;
};

}  // namespace quiver

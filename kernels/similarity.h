// The similarities of dense kernels, and the types of the values they read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/schema.h"

namespace quiver {

/// Score of a query and a row. Distances are negated, so that larger is better.
enum class Similarity : std::uint8_t { kDot = 0, kNegL2Squared = 1, kNegL1 = 2 };
inline constexpr std::size_t kSimilarities = 3;
inline constexpr std::size_t kDTypes = 3;

/// Cosine is a dot product, because rows are normalised when they are stored.
[[nodiscard]] constexpr Similarity similarity_of(Metric metric) {
  return metric == Metric::kEuclid      ? Similarity::kNegL2Squared
         : metric == Metric::kManhattan ? Similarity::kNegL1
                                        : Similarity::kDot;
}

/// Types of stored values. The first three are types of fields (`DType`), with the same numbers.
enum class RowType : std::uint8_t { kF32 = 0, kF16 = 1, kU8 = 2, kI8 = 3, kBf16 = 4 };
inline constexpr std::size_t kRowTypes = 5;
/// Of a type that is no code (`is_code`).
[[nodiscard]] constexpr RowType row_type(DType dtype) {
  return dtype == DType::kBf16 ? RowType::kBf16 : static_cast<RowType>(dtype);
}

/// Types of document tokens that MaxSim reads: f32, f16, u8 and bf16, in this order.
inline constexpr std::size_t kTokenTypes = 4;
[[nodiscard]] constexpr std::size_t token_type(DType dtype) {
  return dtype == DType::kBf16 ? 3 : static_cast<std::size_t>(dtype);
}

}  // namespace quiver

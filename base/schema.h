// The schema of one vector field of a collection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quiver {

enum class FieldKind : std::uint8_t { kDense = 0, kSparse = 1, kMulti = 2 };
/// Type of the stored values. Sparse values are always stored as f32. A turbo type keeps a code of
/// 4, 8 or 16 bits a dimension and one f32 for the whole vector (index/stored_rows.h). kI8 keeps a
/// signed byte a dimension and one f32. kE4m3 and kE5m2 are floats of 8 bits.
/// kBinary keeps signs.
/// Numbers never change: they are in files.
enum class DType : std::uint8_t {
  kF32 = 0,
  kF16 = 1,
  kU8 = 2,
  kTurbo4 = 3,
  kTurbo8 = 4,
  kTurbo16 = 5,
  kBf16 = 6,
  kI8 = 7,
  kE4m3 = 8,
  kE5m2 = 9,
  kBinary = 10
};
/// kEuclid and kManhattan are distances: users see smaller as better.
enum class Metric : std::uint8_t { kDot = 0, kCosine = 1, kEuclid = 2, kManhattan = 3 };
enum class SparseModifier : std::uint8_t { kNone = 0, kIdf = 1 };

/// By `FieldKind`, as users write them.
inline constexpr std::array<std::string_view, 3> kFieldKindNames = {"dense", "sparse", "multi"};

[[nodiscard]] constexpr std::string_view kind_name(FieldKind kind) {
  return kFieldKindNames[static_cast<std::size_t>(kind)];
}

struct FieldSchema {
  std::string name;  ///< "" is the unnamed default field
  FieldKind kind = FieldKind::kDense;
  std::uint32_t dim = 0;  ///< per vector, or per token of a multi-vector; 0 for sparse
  DType dtype = DType::kF32;
  Metric metric = Metric::kCosine;  ///< sparse: always kDot
  SparseModifier modifier = SparseModifier::kNone;

  bool operator==(const FieldSchema&) const = default;
};

[[nodiscard]] constexpr bool is_turbo(DType dtype) {
  return dtype >= DType::kTurbo4 && dtype <= DType::kTurbo16;
}

[[nodiscard]] constexpr bool is_float8(DType dtype) {
  return dtype == DType::kE4m3 || dtype == DType::kE5m2;
}

/// True if a row has one f32 beside its values.
[[nodiscard]] constexpr bool has_scale(DType dtype) {
  return is_turbo(dtype) || dtype == DType::kI8;
}

/// True if kernels do not read rows of the type: they become f32 first.
[[nodiscard]] constexpr bool is_code(DType dtype) {
  return has_scale(dtype) || is_float8(dtype) || dtype == DType::kBinary;
}

/// Without what a row has beside its values.
[[nodiscard]] constexpr std::uint32_t bits_per_value(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 32;
    case DType::kF16:
    case DType::kBf16:
    case DType::kTurbo16:
      return 16;
    case DType::kU8:
    case DType::kTurbo8:
    case DType::kI8:
    case DType::kE4m3:
    case DType::kE5m2:
      return 8;
    case DType::kTurbo4:
      return 4;
    case DType::kBinary:
      return 1;
  }
  return 0;
}

/// Of a type that is no code.
[[nodiscard]] constexpr std::uint32_t bytes_per_value(DType dtype) {
  return bits_per_value(dtype) / 8;
}

/// Bytes of one stored vector of `dim` values, not padded.
[[nodiscard]] constexpr std::size_t vector_bytes(std::uint32_t dim, DType dtype) {
  const std::size_t scale_bytes = has_scale(dtype) ? sizeof(float) : 0;
  return scale_bytes + (std::size_t{dim} * bits_per_value(dtype) + 7) / 8;
}

/// True for kEuclid and kManhattan. Below the wire their scores are negated, so that a larger score
/// is always better.
[[nodiscard]] constexpr bool is_distance(Metric metric) {
  return metric == Metric::kEuclid || metric == Metric::kManhattan;
}

}  // namespace quiver

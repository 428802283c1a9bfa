// The words for metrics and value types in command lines, reports and manifests, and parsers of
// these and of field kinds (base/schema.h). The words of the API for them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "base/schema.h"

namespace quiver {

// In the order of the enums' values.
inline constexpr std::array<std::string_view, 4> kMetricNames = {"dot", "cosine", "euclid",
                                                                 "manhattan"};
/// The same, as clients write them in `distance`.
inline constexpr std::array<std::string_view, kMetricNames.size()> kDistanceNames = {
    "Dot", "Cosine", "Euclid", "Manhattan"};
inline constexpr std::array<std::string_view, 11> kDTypeNames = {
    "f32", "f16", "u8", "turbo4", "turbo8", "turbo16", "bf16", "i8", "e4m3", "e5m2", "binary"};
/// The same, as clients write them in `datatype`.
inline constexpr std::array<std::string_view, kDTypeNames.size()> kDatatypeNames = {
    "float32",  "float16", "uint8",       "turbo4",      "turbo8", "turbo16",
    "bfloat16", "int8",    "float8_e4m3", "float8_e5m2", "binary"};

[[nodiscard]] constexpr std::string_view metric_name(Metric metric) {
  return kMetricNames[static_cast<std::size_t>(metric)];
}
[[nodiscard]] constexpr std::string_view distance_name(Metric metric) {
  return kDistanceNames[static_cast<std::size_t>(metric)];
}
[[nodiscard]] constexpr std::string_view dtype_name(DType dtype) {
  return kDTypeNames[static_cast<std::size_t>(dtype)];
}
[[nodiscard]] constexpr std::string_view datatype_name(DType dtype) {
  return kDatatypeNames[static_cast<std::size_t>(dtype)];
}

/// kInvalidArgument, with the known words, for an unknown one.
[[nodiscard]] Result<FieldKind> parse_kind(std::string_view word);
[[nodiscard]] Result<Metric> parse_metric(std::string_view word);
[[nodiscard]] Result<DType> parse_dtype(std::string_view word);
/// A word of `kDatatypeNames`.
[[nodiscard]] Result<DType> parse_datatype(std::string_view word);

}  // namespace quiver

// Words of the command line and of reports.
#pragma once

#include <array>
#include <string_view>

#include "base/schema.h"

namespace quiver::app {

inline constexpr std::array<std::string_view, 3> kKindNames = {"dense", "sparse", "multi"};
inline constexpr std::array<std::string_view, 4> kMetricNames = {"dot", "cosine", "euclid",
                                                                 "manhattan"};
inline constexpr std::array<std::string_view, 3> kDTypeNames = {"f32", "f16", "u8"};

[[nodiscard]] constexpr std::string_view kind_name(FieldKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr std::string_view metric_name(Metric metric) {
  return kMetricNames[static_cast<std::size_t>(metric)];
}
[[nodiscard]] constexpr std::string_view dtype_name(DType dtype) {
  return kDTypeNames[static_cast<std::size_t>(dtype)];
}

}  // namespace quiver::app

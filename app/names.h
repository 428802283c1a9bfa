// Words of the command line and of reports.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "base/schema.h"

namespace quiver::app {

inline constexpr std::array<std::string_view, 4> kMetricNames = {"dot", "cosine", "euclid",
                                                                 "manhattan"};
inline constexpr std::array<std::string_view, 3> kDTypeNames = {"f32", "f16", "u8"};

[[nodiscard]] constexpr std::string_view metric_name(Metric metric) {
  return kMetricNames[static_cast<std::size_t>(metric)];
}
[[nodiscard]] constexpr std::string_view dtype_name(DType dtype) {
  return kDTypeNames[static_cast<std::size_t>(dtype)];
}

/// kInvalidArgument for a word that is none of `words`; `what` is for the text.
template <class Enum, std::size_t N>
[[nodiscard]] Result<Enum> parse_word(std::string_view what, std::string_view word,
                                      const std::array<std::string_view, N>& words) {
  for (std::size_t i = 0; i < N; ++i) {
    if (word == words[i]) return static_cast<Enum>(i);
  }
  return fail(Code::kInvalidArgument,
              fmt::format("`{}` is no {}; one of {}", word, what, fmt::join(words, ", ")));
}
[[nodiscard]] inline Result<FieldKind> parse_kind(std::string_view word) {
  return parse_word<FieldKind>("kind", word, kFieldKindNames);
}

}  // namespace quiver::app

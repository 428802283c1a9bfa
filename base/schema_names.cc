#include "base/schema_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

namespace quiver {
namespace {

/// `what` names the enum in the error.
template <class Enum>
Result<Enum> parse_word(std::string_view what, std::string_view word,
                        std::span<const std::string_view> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (word == words[i]) return static_cast<Enum>(i);
  }
  return fail(Code::kInvalidArgument,
              fmt::format("`{}` is no {}; one of {}", word, what, fmt::join(words, ", ")));
}

}  // namespace

Result<FieldKind> parse_kind(std::string_view word) {
  return parse_word<FieldKind>("kind", word, kFieldKindNames);
}

Result<Metric> parse_metric(std::string_view word) {
  return parse_word<Metric>("metric", word, kMetricNames);
}

Result<DType> parse_dtype(std::string_view word) {
  return parse_word<DType>("type of values", word, kDTypeNames);
}

Result<DType> parse_datatype(std::string_view word) {
  return parse_word<DType>("datatype", word, kDatatypeNames);
}

}  // namespace quiver

#include "app/import/plan/source_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/schema_names.h"

namespace quiver::app {
namespace {

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string SourceSpec::describe() const {
  return fmt::format("{} vectors{} of {}", kind_name(kind),
                     name.empty() ? "" : fmt::format(" \"{}\"", name), source);
}

Result<SourceSpec> parse_source(std::string_view text) {
  SourceSpec spec;
  std::string_view rest = text;
  for (std::size_t i = 0; i < kFieldKindNames.size(); ++i) {
    const std::string_view name = kFieldKindNames[i];
    if (!text.starts_with(name) || !text.substr(name.size()).starts_with(':')) continue;
    spec.kind = static_cast<FieldKind>(i);
    rest = text.substr(name.size() + 1);
  }
  const auto equals = rest.find('=');
  if (equals != std::string_view::npos) {
    spec.name = rest.substr(0, equals);
    rest.remove_prefix(equals + 1);
  }
  spec.source = rest;
  if (spec.source.empty()) {
    return fail(Code::kInvalidArgument,
                fmt::format("--vectors {}: wanted [KIND:][NAME=]SOURCE, KIND one of dense, sparse, "
                            "multi",
                            text));
  }
  if (spec.kind == FieldKind::kSparse && spec.name.empty()) {
    return fail(Code::kInvalidArgument,
                fmt::format("--vectors {}: sparse vectors want a name (sparse:NAME=SOURCE)", text));
  }
  return spec;
}

PerName::PerName(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) {
      values_.emplace_back(std::nullopt, text);
    } else {
      values_.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
}

std::optional<std::string> PerName::find(std::string_view name) const {
  std::optional<std::string> found;
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
    if (!key) found = value;
  }
  return found;
}

Result<> PerName::check_names(std::string_view flag, const std::vector<std::string>& names) const {
  for (const auto& [key, value] : values_) {
    if (!key || std::find(names.begin(), names.end(), *key) != names.end()) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("{} {}={}: there are no vectors \"{}\"", flag, *key, value, *key));
  }
  return {};
}

Result<double> parse_factor(std::string_view text) {
  const auto slash = text.find('/');
  const auto above = parse_number(text.substr(0, slash));
  const auto below =
      slash == std::string_view::npos ? std::optional(1.0) : parse_number(text.substr(slash + 1));
  if (above && below && *below != 0) return *above / *below;
  return fail(Code::kInvalidArgument,
              fmt::format("--scale {}: wanted a number, or two as in 1/127", text));
}

}  // namespace quiver::app

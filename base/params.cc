#include "base/params.h"

#include <fmt/format.h>

#include <cstdlib>

#include <algorithm>
#include <cmath>
#include <optional>

namespace quiver {
namespace {

/// Prints integers without an exponent, so that a limit reads as it was declared.
std::string format_number(double value) {
  if (value == std::trunc(value) && std::abs(value) < 9e15) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

std::string format_range(ParamRange range) {
  if (std::isinf(range.max) && std::isinf(range.min)) return "any finite number";
  if (std::isinf(range.max)) return fmt::format("at least {}", format_number(range.min));
  if (std::isinf(range.min)) return fmt::format("at most {}", format_number(range.max));
  return fmt::format("{} to {}", format_number(range.min), format_number(range.max));
}

tl::unexpected<Error> wrong_kind(std::string_view name, std::string_view wanted,
                                 const ParamValue& found) {
  return fail(Code::kInvalidArgument,
              fmt::format("parameter `{}` is {}: wanted {}", name, to_string(found), wanted));
}

Result<> check_range(std::string_view name, const ParamValue& value, double number,
                     ParamRange range) {
  if (std::isfinite(number) && number >= range.min && number <= range.max) return {};
  return fail(Code::kInvalidArgument, fmt::format("parameter `{}` is {}: wanted {}", name,
                                                  to_string(value), format_range(range)));
}

std::optional<double> as_number(const ParamValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

}  // namespace

std::string to_string(const ParamValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return format_number(*number);
  return fmt::format("\"{}\"", std::get<std::string>(value));
}

std::string to_string(const KeyValues& values) {
  std::string out;
  for (const auto& [name, value] : values) {
    if (!out.empty()) out += ' ';
    out += fmt::format("{}={}", name, to_string(value));
  }
  return out;
}

namespace detail {

Result<bool> read_bool(std::string_view name, const ParamValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  return wrong_kind(name, "true or false", value);
}

Result<std::int64_t> read_integer(std::string_view name, const ParamValue& value,
                                  ParamRange range) {
  const auto number = as_number(value);
  if (!number) return wrong_kind(name, "an integer", value);
  QV_TRY(check_range(name, value, *number, range));
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  constexpr double kLimit = 9223372036854775808.0;  // 2^63, the first value that does not fit
  if (*number != std::trunc(*number) || *number < -kLimit || *number >= kLimit) {
    return wrong_kind(name, "an integer", value);
  }
  return static_cast<std::int64_t>(*number);
}

Result<double> read_number(std::string_view name, const ParamValue& value, ParamRange range) {
  const auto number = as_number(value);
  if (!number) return wrong_kind(name, "a number", value);
  QV_TRY(check_range(name, value, *number, range));
  return *number;
}

double as_written(float value) {
  const std::string text = fmt::format("{}", value);
  return std::strtod(text.c_str(), nullptr);
}

Result<std::string> read_string(std::string_view name, const ParamValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return wrong_kind(name, "a string", value);
}

Result<> check_known(const KeyValues& values, const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : values) {
    if (std::ranges::find(known, name) != known.end()) continue;
    if (known.empty()) {
      return fail(Code::kInvalidArgument,
                  fmt::format("unknown parameter `{}`: there are none", name));
    }
    return fail(Code::kInvalidArgument,
                fmt::format("unknown parameter `{}`: known are {}", name, fmt::join(known, ", ")));
  }
  return {};
}

}  // namespace detail
}  // namespace quiver

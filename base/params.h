// Parameters declared once: the declaration parses, validates, prints and documents them.
//
//   struct HnswBuildParams {
//     std::uint32_t m = 16;
//     template <class V> static constexpr void fields(V&& v) {
//       v(field("m", &HnswBuildParams::m, {.min = 2, .max = 128}));
//     }
//   };
//   QV_TRY(auto params, parse_params<HnswBuildParams>(key_values));
//
// A derived struct may begin or end with the parameters of its base: `Base::fields(v)`.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/variant.h"

namespace quiver {

using ParamValue = Variant<bool, std::int64_t, double, std::string>;
/// Names with numbers, bools or strings: the user's input, not yet checked.
using KeyValues = std::map<std::string, ParamValue, std::less<>>;

/// Both ends are included. Ignored for bools and strings.
struct ParamRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

/// Integers of at most 64 bits (values up to 2^63 - 1), floats, bool or std::string.
template <class T>
concept ParamType = std::same_as<T, bool> || std::same_as<T, std::string> || std::integral<T> ||
    std::floating_point<T>;

template <class Params, ParamType T>
struct Field {
  std::string_view name;
  T Params::*member;
  ParamRange range;
};

template <class Params, ParamType T>
[[nodiscard]] constexpr Field<Params, T> field(std::string_view name, T Params::*member,
                                               ParamRange range = {}) {
  return {name, member, range};
}

/// One row of a parameter table.
struct ParamInfo {
  std::string name;
  std::string_view type;  ///< "integer", "number", "bool" or "string"
  ParamValue default_value;
  ParamRange range;
};

/// Spells a value: `true`, `16`, `0.5`, `"text"`.
[[nodiscard]] std::string to_string(const ParamValue& value);
/// Spells pairs: `ef=200 m=16`.
[[nodiscard]] std::string to_string(const KeyValues& values);

namespace detail {

/// `range` narrowed to the values of `T`, so that no value wraps.
template <class T>
constexpr ParamRange clamp_range(ParamRange range) {
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    const auto lowest = static_cast<double>(std::numeric_limits<T>::min());
    const auto highest = static_cast<double>(std::numeric_limits<T>::max());
    return {range.min > lowest ? range.min : lowest, range.max < highest ? range.max : highest};
  }
  return range;
}

Result<bool> read_bool(std::string_view name, const ParamValue& value);
Result<std::int64_t> read_integer(std::string_view name, const ParamValue& value, ParamRange range);
Result<double> read_number(std::string_view name, const ParamValue& value, ParamRange range);
Result<std::string> read_string(std::string_view name, const ParamValue& value);
/// The shortest double that prints like `value`: 0.1, not 0.10000000149.
double as_written(float value);
/// kInvalidArgument, listing the known keys, for the first key of `values` that is not in `known`.
Result<> check_known(const KeyValues& values, const std::vector<std::string_view>& known);

template <ParamType T>
Result<T> read_value(std::string_view name, const ParamValue& value, ParamRange range) {
  if constexpr (std::same_as<T, bool>) {
    return read_bool(name, value);
  } else if constexpr (std::same_as<T, std::string>) {
    return read_string(name, value);
  } else if constexpr (std::integral<T>) {
    QV_TRY(const std::int64_t number, read_integer(name, value, clamp_range<T>(range)));
    return static_cast<T>(number);
  } else {
    QV_TRY(const double number, read_number(name, value, range));
    return static_cast<T>(number);
  }
}

template <ParamType T>
ParamValue to_value(const T& member) {
  if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
    return member;
  } else if constexpr (std::integral<T>) {
    return static_cast<std::int64_t>(member);
  } else if constexpr (std::same_as<T, float>) {
    return as_written(member);
  } else {
    return static_cast<double>(member);
  }
}

template <ParamType T>
constexpr std::string_view type_name() {
  if constexpr (std::same_as<T, bool>) return "bool";
  if constexpr (std::same_as<T, std::string>) return "string";
  return std::integral<T> ? "integer" : "number";
}

}  // namespace detail

/// `defaults` with the given values set. kInvalidArgument for an unknown name (the text lists the
/// known ones), a value of the wrong type, or one out of range.
template <class Params>
[[nodiscard]] Result<Params> parse_params(const KeyValues& values, Params defaults = {}) {
  std::vector<std::string_view> known;
  Params::fields([&](const auto& f) { known.push_back(f.name); });
  QV_TRY(detail::check_known(values, known));
  Result<> status;
  Params::fields([&]<class P, class T>(const Field<P, T>& f) {
    const auto found = values.find(f.name);
    if (!status || found == values.end()) return;
    auto value = detail::read_value<T>(f.name, found->second, f.range);
    if (value) {
      defaults.*f.member = *std::move(value);
    } else {
      status = fail(std::move(value).error());
    }
  });
  QV_TRY(std::move(status));
  return defaults;
}

/// All parameters, including those at their defaults.
template <class Params>
[[nodiscard]] KeyValues to_key_values(const Params& params) {
  KeyValues values;
  Params::fields([&](const auto& f) {
    values.emplace(std::string(f.name), detail::to_value(params.*f.member));
  });
  return values;
}

/// kInvalidArgument if a member is out of its range. For parameters that were not parsed.
template <class Params>
[[nodiscard]] Result<> validate_params(const Params& params) {
  QV_TRY(parse_params<Params>(to_key_values(params)));
  return {};
}

/// One row per parameter, in the order of declaration.
template <class Params>
[[nodiscard]] std::vector<ParamInfo> describe_params() {
  std::vector<ParamInfo> infos;
  [[maybe_unused]] static const Params defaults{};
  Params::fields([&]<class P, class T>(const Field<P, T>& f) {
    infos.push_back({std::string(f.name), detail::type_name<T>(),
                     detail::to_value(defaults.*f.member), detail::clamp_range<T>(f.range)});
  });
  return infos;
}

}  // namespace quiver

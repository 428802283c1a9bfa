// Parses values of keys and checks them against the declaration.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "app/config/config.h"

namespace quiver::app {
namespace {

/// Levenshtein distance: insertions, deletions and replacements.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest_key(std::string_view full_name) {
  const auto nearest =
      std::min_element(keys().begin(), keys().end(), [&](const Key& a, const Key& b) {
        return edit_distance(full_name, a.full_name()) < edit_distance(full_name, b.full_name());
      });
  return nearest->full_name();
}

std::string_view type_name(KeyType type) {
  switch (type) {
    case KeyType::kBool:
      return "true or false";
    case KeyType::kInteger:
      return "an integer";
    case KeyType::kNumber:
      return "a number";
    case KeyType::kString:
      return "a string";
  }
  return "";
}

tl::unexpected<Error> wrong(const Key& key, std::string_view found, std::string_view wanted) {
  return fail(Code::kInvalidArgument,
              fmt::format("{} is {}, wanted {}", key.full_name(), found, wanted));
}

/// The value as a message may show it: secrets are hidden.
std::string shown(const Key& key, const ParamValue& value) {
  return key.secrecy == Secrecy::kSecret ? "(hidden)" : to_string(value);
}

Result<> check_range(const Key& key, double number, const ParamValue& value) {
  if (number >= key.range.min && number <= key.range.max) return {};
  return wrong(key, to_string(value), fmt::format("{} to {}", key.range.min, key.range.max));
}

Result<> check_choice(const Key& key, const std::string& text) {
  if (key.choices.empty() || std::ranges::count(key.choices, text) > 0) return {};
  return wrong(key, fmt::format("\"{}\"", text),
               fmt::format("one of {}", fmt::join(key.choices, ", ")));
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<std::size_t> find_key(std::string_view full_name) {
  for (std::size_t i = 0; i < keys().size(); ++i) {
    if (keys()[i].full_name() == full_name) return i;
  }
  return fail(Code::kInvalidArgument, fmt::format("unknown key `{}`; the nearest known one is `{}`",
                                                  full_name, nearest_key(full_name)));
}

Result<ParamValue> check_value(const Key& key, ParamValue value) {
  if (key.type == KeyType::kNumber && std::holds_alternative<std::int64_t>(value)) {
    value = static_cast<double>(std::get<std::int64_t>(value));
  }
  // The alternatives of ParamValue are in the order of KeyType.
  if (value.index() != static_cast<std::size_t>(key.type)) {
    return wrong(key, shown(key, value), type_name(key.type));
  }
  if (const auto* text = std::get_if<std::string>(&value)) QV_TRY(check_choice(key, *text));
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    QV_TRY(check_range(key, static_cast<double>(*integer), value));
  }
  if (const auto* number = std::get_if<double>(&value)) QV_TRY(check_range(key, *number, value));
  return value;
}

Result<ParamValue> parse_value(const Key& key, std::string_view text) {
  const auto wrong_text = [&] {
    return wrong(key, key.secrecy == Secrecy::kSecret ? "(hidden)" : fmt::format("\"{}\"", text),
                 type_name(key.type));
  };
  switch (key.type) {
    case KeyType::kBool:
      if (text == "true" || text == "1") return check_value(key, true);
      if (text == "false" || text == "0") return check_value(key, false);
      return wrong_text();
    case KeyType::kInteger:
      if (const auto number = parse_number<std::int64_t>(text)) return check_value(key, *number);
      return wrong_text();
    case KeyType::kNumber:
      if (const auto number = parse_number<double>(text)) return check_value(key, *number);
      return wrong_text();
    case KeyType::kString:
      return check_value(key, std::string(text));
  }
  return wrong_text();
}

}  // namespace quiver::app

#include "bench/common/grid.h"

#include <fmt/format.h>

#include <charconv>

namespace quiver::bench {
namespace {

constexpr std::size_t kMaxPoints = 10'000;

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

ParamValue parse_value(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  std::int64_t integer = 0;
  if (parse_whole(text, integer)) return integer;
  double number = 0;
  if (parse_whole(text, number)) return number;
  return std::string(text);
}

/// Returns the text before the first `separator`, and removes both from `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const auto at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return part;
}

tl::unexpected<Error> malformed(std::string_view text, std::string_view wanted) {
  return fail(Code::kInvalidArgument, fmt::format("`{}` is not of the form {}", text, wanted));
}

struct Sweep {
  std::string key;
  std::vector<ParamValue> values;
};

Result<Sweep> parse_sweep(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos) return malformed(text, "key=a,b,c");
  Sweep sweep{std::string(text.substr(0, equals)), {}};
  for (std::string_view rest = text.substr(equals + 1); !rest.empty();) {
    const std::string_view value = take(rest, ',');
    if (value.empty()) return malformed(text, "key=a,b,c");
    sweep.values.push_back(parse_value(value));
  }
  if (sweep.values.empty()) return malformed(text, "key=a,b,c");
  return sweep;
}

}  // namespace

Result<KeyValues> parse_key_values(std::string_view text) {
  KeyValues values;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view value = take(rest, ',');
    const auto equals = value.find('=');
    if (equals == 0 || equals == std::string_view::npos || equals + 1 == value.size()) {
      return malformed(text, "key=value,key=value");
    }
    const std::string_view key = take(value, '=');
    if (!values.emplace(key, parse_value(value)).second) {
      return fail(Code::kInvalidArgument, fmt::format("`{}` is given twice in `{}`", key, text));
    }
  }
  return values;
}

Result<std::vector<KeyValues>> parse_grid(std::span<const std::string> sweeps) {
  std::vector<KeyValues> grid(1);
  for (const std::string& text : sweeps) {
    QV_TRY(const auto sweep, parse_sweep(text));
    if (grid.front().contains(sweep.key)) {
      return fail(Code::kInvalidArgument, fmt::format("`{}` is swept twice", sweep.key));
    }
    if (grid.size() * sweep.values.size() > kMaxPoints) {
      return fail(Code::kInvalidArgument,
                  fmt::format("more than {} points to measure", kMaxPoints));
    }
    std::vector<KeyValues> finer;
    for (const KeyValues& point : grid) {
      for (const ParamValue& value : sweep.values) {
        finer.push_back(point);
        finer.back().emplace(sweep.key, value);
      }
    }
    grid = std::move(finer);
  }
  return grid;
}

}  // namespace quiver::bench

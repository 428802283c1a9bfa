#include "service/json/element.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <unordered_map>

#include "service/json/parser_memory.h"
#include "service/json/writer.h"

namespace quiver::service::json {
namespace {

/// Deeper nesting is refused, since decoders recurse.
constexpr std::size_t kMaxDepth = 128;
/// A larger body gets its own parser, so that no thread keeps that memory for ever.
constexpr std::size_t kKeptParserBytes = 1 << 20;

/// Size up to which a thread keeps the buffer of a written object.
constexpr std::size_t kKeptTextBytes = 1 << 20;

using Parser = simdjson::dom::parser;

std::unique_ptr<Parser> make_parser(std::size_t capacity) {
  auto parser = std::make_unique<Parser>();
  if (parser->allocate(capacity, kMaxDepth) != simdjson::SUCCESS) throw std::bad_alloc();
  return parser;
}

std::unique_ptr<Parser>& large_parser() {
  thread_local std::unique_ptr<Parser> large;
  return large;
}

/// The parser of this thread. nullptr before its first use, and after memory ran out.
std::unique_ptr<Parser>& parser_for(std::size_t n_bytes) {
  thread_local std::unique_ptr<Parser> small;
  large_parser().reset();
  return n_bytes <= kKeptParserBytes ? small : large_parser();
}

void append_value(std::string& out, Element element);

/// Tells for each member whether a later one has the same name.
class RepeatedNames {
 public:
  explicit RepeatedNames(Object object) : object_(object) {
    if (object.size() <= kMaxScannedMembers) return;
    std::size_t i = 0;
    for (const auto [name, value] : object) last_[name] = i++;
  }
  [[nodiscard]] bool is_repeated_after(std::size_t i, std::string_view name) const {
    if (!last_.empty()) return last_.at(name) != i;
    std::size_t k = 0;
    for (const auto [other, value] : object_) {
      if (k++ > i && other == name) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMaxScannedMembers = 16;
  Object object_;
  std::unordered_map<std::string_view, std::size_t> last_;
};

void append_object(std::string& out, Object object) {
  const RepeatedNames names(object);
  out += '{';
  bool first = true;
  std::size_t i = 0;
  for (const auto [name, value] : object) {
    if (names.is_repeated_after(i++, name)) continue;
    if (!first) out += ',';
    first = false;
    append_string(out, name);
    out += ':';
    append_value(out, value);
  }
  out += '}';
}

void append_array(std::string& out, Array array) {
  out += '[';
  bool first = true;
  for (const Element value : array) {
    if (!first) out += ',';
    first = false;
    append_value(out, value);
  }
  out += ']';
}

void append_value(std::string& out, Element element) {
  switch (element.type()) {
    case simdjson::dom::element_type::OBJECT:
      return append_object(out, as_object(element));
    case simdjson::dom::element_type::ARRAY:
      return append_array(out, as_array(element));
    case simdjson::dom::element_type::STRING:
      return append_string(out, as_string(element));
    case simdjson::dom::element_type::INT64:
      out += fmt::format_int(as_int64(element)).c_str();
      return;
    case simdjson::dom::element_type::UINT64:
      out += fmt::format_int(as_uint64(element)).c_str();
      return;
    case simdjson::dom::element_type::DOUBLE:
      return append_f64(out, as_double(element));
    case simdjson::dom::element_type::BOOL:
      out += as_bool(element) ? "true" : "false";
      return;
    case simdjson::dom::element_type::NULL_VALUE:
      out += "null";
      return;
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the end of the string whose opening quote is at `at`.
std::size_t end_of_string(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return std::min(at + 1, json.size());
}

bool fits_64_bits(std::string_view integer) {
  const char* end = integer.data() + integer.size();
  std::uint64_t positive = 0;
  std::int64_t negative = 0;
  const auto parsed = integer.starts_with('-') ? std::from_chars(integer.data(), end, negative)
                                               : std::from_chars(integer.data(), end, positive);
  return parsed.ec != std::errc::result_out_of_range;
}

/// Returns `json` with an exponent added to each integer that does not fit 64 bits. The parser
/// refuses such integers; with the exponent it reads them as doubles, as other JSON libraries do.
std::string with_large_integers_as_doubles(std::string_view json) {
  constexpr auto npos = std::string_view::npos;
  std::string out;
  for (std::size_t i = 0; i < json.size();) {
    std::size_t end = i + 1;
    if (json[i] == '"') end = end_of_string(json, i);
    const bool is_number = is_digit(json[i]) || json[i] == '-';
    while (is_number && end < json.size() && is_digit(json[end])) ++end;
    const auto token = json.substr(i, end - i);
    const bool is_integer =
        is_number && (end == json.size() || std::string_view(".eE").find(json[end]) == npos);
    out += token;
    if (is_integer && !fits_64_bits(token)) out += "e0";
    // Digits after the point or in the exponent are not separate integers.
    if (is_number && !is_integer) {
      const auto rest = json.find_first_not_of("0123456789.eE+-", end);
      out += json.substr(end, rest - end);
      end = std::min(rest, json.size());
    }
    i = end;
  }
  return out;
}

simdjson::simdjson_result<Element> parse(std::string& body) {
  body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
  auto& parser = parser_for(body.size());
  if (!parser) parser = make_parser(std::max<std::size_t>(body.size(), 16 << 10));
  auto parsed = parser->parse(body.data(), body.size(), false);
  if (parsed.error() == simdjson::MEMALLOC) {
    parser.reset();  // it is half made and must not be used again
    throw std::bad_alloc();
  }
  return parsed;
}

}  // namespace

LargeParserScope::~LargeParserScope() { large_parser().reset(); }

Decoded<Element> parse_body(std::string& body) {
  if (body.empty()) return format_error(Path(), "the body is empty, expected a JSON value");
  auto parsed = parse(body);
  if (parsed.error() == simdjson::NUMBER_ERROR) {
    body = with_large_integers_as_doubles(body);
    parsed = parse(body);
  }
  if (parsed.error() != simdjson::SUCCESS) {
    return format_error(Path(), simdjson::error_message(parsed.error()));
  }
  return parsed.value_unsafe();
}

Decoded<Object> parse_object_body(std::string& body) {
  QV_TRY(const Element element, parse_body(body));
  return get_object(element, Path());
}

std::string describe(Element element) {
  std::string text;
  switch (element.type()) {
    case simdjson::dom::element_type::OBJECT:
      return "map";
    case simdjson::dom::element_type::ARRAY:
      return "sequence";
    case simdjson::dom::element_type::STRING:
      append_string(text, as_string(element).substr(0, 100));
      return "string " + text;
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64:
      return fmt::format("integer `{}`", to_json(element));
    case simdjson::dom::element_type::DOUBLE:
      return fmt::format("floating point `{}`", to_json(element));
    case simdjson::dom::element_type::BOOL:
      return fmt::format("boolean `{}`", to_json(element));
    case simdjson::dom::element_type::NULL_VALUE:
      break;
  }
  return "null";
}

tl::unexpected<ApiError> wrong_type(Element element, const Path& path, std::string_view wanted) {
  return format_error(path,
                      fmt::format("invalid type: {}, expected {}", describe(element), wanted));
}

tl::unexpected<ApiError> missing_field(const Path& path, std::string_view name) {
  return format_error(path, fmt::format("missing field `{}`", name));
}

Decoded<std::string_view> get_string(Element element, const Path& path) {
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) return wrong_type(element, path, "a string");
  return text;
}

Decoded<bool> get_bool(Element element, const Path& path) {
  bool value = false;
  if (element.get(value) != simdjson::SUCCESS) return wrong_type(element, path, "a boolean");
  return value;
}

Decoded<std::uint64_t> get_u64(Element element, const Path& path) {
  std::uint64_t value = 0;
  if (element.get(value) != simdjson::SUCCESS) {
    return wrong_type(element, path, "an unsigned integer");
  }
  return value;
}

Decoded<std::uint32_t> get_u32(Element element, const Path& path) {
  std::uint64_t value = 0;
  if (element.get(value) != simdjson::SUCCESS ||
      value > std::numeric_limits<std::uint32_t>::max()) {
    return wrong_type(element, path, "an unsigned 32-bit integer");
  }
  return static_cast<std::uint32_t>(value);
}

Decoded<double> get_f64(Element element, const Path& path) {
  double value = 0;
  if (element.get(value) != simdjson::SUCCESS) return wrong_type(element, path, "a number");
  return value;
}

Decoded<float> get_f32(Element element, const Path& path) {
  QV_TRY(const double value, get_f64(element, path));
  const auto narrow = static_cast<float>(value);
  if (!std::isfinite(narrow)) return wrong_type(element, path, "a finite 32-bit float");
  return narrow;
}

Decoded<Object> get_object(Element element, const Path& path) {
  Object object;
  if (element.get(object) != simdjson::SUCCESS) return wrong_type(element, path, "an object");
  return object;
}

Decoded<Array> get_array(Element element, const Path& path) {
  Array array;
  if (element.get(array) != simdjson::SUCCESS) return wrong_type(element, path, "an array");
  return array;
}

std::optional<Element> find(Object object, std::string_view name) {
  for (const auto [key, value] : object) {
    if (key == name) return value.is_null() ? std::nullopt : std::optional<Element>(value);
  }
  return std::nullopt;
}

std::optional<Element> find(Object object, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    if (auto value = find(object, name)) return value;
  }
  return std::nullopt;
}

Decoded<Element> require(Object object, std::string_view name, const Path& path) {
  const auto value = find(object, name);
  if (!value) return missing_field(path, name);
  return *value;
}

Decoded<> check_members(Object object, const Path& path,
                        std::initializer_list<std::string_view> names) {
  for (const auto [key, value] : object) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    return format_error(path, fmt::format("unknown field `{}`, expected one of `{}`", key,
                                          fmt::join(names, "`, `")));
  }
  return {};
}

std::string to_json(Object object) {
  // Written to memory that the thread keeps, so that the result is allocated once, at its size.
  thread_local std::string text;
  text.clear();
  append_object(text, object);
  std::string result(text);
  if (text.capacity() > kKeptTextBytes) text = std::string();
  return result;
}

void append_element(std::string& out, Element element) { append_value(out, element); }

std::string to_json(Element element) {
  std::string text;
  append_value(text, element);
  return text;
}

}  // namespace quiver::service::json

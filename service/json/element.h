// Reading a parsed JSON body. Only .cc files below service/json include it, since simdjson is
// heavy.
#pragma once

#include <simdjson.h>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "service/json/error.h"

namespace quiver::service::json {

using Element = simdjson::dom::element;
using Object = simdjson::dom::object;
using Array = simdjson::dom::array;

/// Parses a JSON text into a tree, which lives in the thread's parser until the next call on this
/// thread, or the end of a LargeParserScope. May reserve memory in `body` for the parser's
/// look-ahead. 400 if malformed.
[[nodiscard]] Decoded<Element> parse_body(std::string& body);
/// As `parse_body`; 400 also if the text is no object.
[[nodiscard]] Decoded<Object> parse_object_body(std::string& body);

/// "string \"abc\"", "integer `3`": for messages.
[[nodiscard]] std::string describe(Element element);
/// 400 "<path>: invalid type: <element>, expected <wanted>".
[[nodiscard]] tl::unexpected<ApiError> wrong_type(Element element, const Path& path,
                                                  std::string_view wanted);
[[nodiscard]] tl::unexpected<ApiError> missing_field(const Path& path, std::string_view name);

[[nodiscard]] Decoded<std::string_view> get_string(Element element, const Path& path);
[[nodiscard]] Decoded<bool> get_bool(Element element, const Path& path);
[[nodiscard]] Decoded<std::uint64_t> get_u64(Element element, const Path& path);
[[nodiscard]] Decoded<std::uint32_t> get_u32(Element element, const Path& path);
[[nodiscard]] Decoded<double> get_f64(Element element, const Path& path);
/// 400 if it does not fit a finite float.
[[nodiscard]] Decoded<float> get_f32(Element element, const Path& path);
[[nodiscard]] Decoded<Object> get_object(Element element, const Path& path);
[[nodiscard]] Decoded<Array> get_array(Element element, const Path& path);

// For elements whose type is known. By value: simdjson's own accessors hand out references into
// temporaries, which a range-for would outlive.
[[nodiscard]] inline Object as_object(Element element) {
  return element.get_object().value_unsafe();
}
[[nodiscard]] inline Array as_array(Element element) { return element.get_array().value_unsafe(); }
[[nodiscard]] inline std::string_view as_string(Element element) {
  return element.get_string().value_unsafe();
}
[[nodiscard]] inline bool as_bool(Element element) { return element.get_bool().value_unsafe(); }
[[nodiscard]] inline std::int64_t as_int64(Element element) {
  return element.get_int64().value_unsafe();
}
[[nodiscard]] inline std::uint64_t as_uint64(Element element) {
  return element.get_uint64().value_unsafe();
}
/// Accepts integers, too.
[[nodiscard]] inline double as_double(Element element) {
  return element.get_double().value_unsafe();
}

/// Returns the member; nullopt if it is missing or null.
[[nodiscard]] std::optional<Element> find(Object object, std::string_view name);
/// Returns the member under the first of several spellings that is there.
[[nodiscard]] std::optional<Element> find(Object object,
                                          std::initializer_list<std::string_view> names);
/// 400 if missing or null.
[[nodiscard]] Decoded<Element> require(Object object, std::string_view name, const Path& path);
/// 400 for the first member whose name is not in `names`.
[[nodiscard]] Decoded<> check_members(Object object, const Path& path,
                                      std::initializer_list<std::string_view> names);

/// Appends compact JSON text. Key order, integers and fractions do not change; the last value of a
/// repeated key counts.
void append_element(std::string& out, Element element);
[[nodiscard]] std::string to_json(Element element);
[[nodiscard]] std::string to_json(Object object);

}  // namespace quiver::service::json

#include "service/json/decode/decode_parts.h"

#include <fmt/format.h>

#include "payload/scalar/datetime.h"

namespace quiver::service::json {
namespace {

using payload::Selector;

constexpr std::string_view kIdHelp = "valid values are either an unsigned integer or a UUID";

Decoded<std::vector<payload::JsonPath>> decode_paths(Element element, const Path& path) {
  QV_TRY(const auto texts, decode_strings(element, path));
  std::vector<payload::JsonPath> paths;
  paths.reserve(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto parsed = payload::JsonPath::parse(texts[i]);
    if (!parsed) return format_error(path.item(i), parsed.error().message());
    paths.push_back(*std::move(parsed));
  }
  return paths;
}

Decoded<Selector> decode_selector_object(Object object, const Path& path) {
  QV_TRY(check_members(object, path, {"include", "exclude"}));
  if (const auto include = find(object, "include")) {
    QV_TRY(auto paths, decode_paths(*include, path.member("include")));
    return Selector::include(std::move(paths));
  }
  if (const auto exclude = find(object, "exclude")) {
    QV_TRY(auto paths, decode_paths(*exclude, path.member("exclude")));
    return Selector::exclude(std::move(paths));
  }
  return missing_field(path, "include");
}

Decoded<payload::Number> decode_start(Element element, const Path& path) {
  switch (element.type()) {
    case simdjson::dom::element_type::INT64:
      return payload::Number(as_int64(element));
    case simdjson::dom::element_type::UINT64:
      return payload::Number(as_uint64(element));
    case simdjson::dom::element_type::DOUBLE:
      return payload::Number(as_double(element));
    case simdjson::dom::element_type::STRING:
      if (const auto time = payload::parse_datetime(as_string(element))) {
        return payload::Number(*time);
      }
      return wrong_type(element, path, "a number or a datetime");
    default:
      return wrong_type(element, path, "a number or a datetime");
  }
}

}  // namespace

Decoded<PointId> decode_id(Element element, const Path& path) {
  std::uint64_t number = 0;
  if (element.get(number) == simdjson::SUCCESS) return PointId::number(number);
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) {
    if (const auto uuid = PointId::parse_uuid(text)) return *uuid;
  }
  return format_error(
      path, fmt::format("value {} is not a valid point ID, {}", to_json(element), kIdHelp));
}

Decoded<std::vector<PointId>> decode_ids(Element element, const Path& path) {
  QV_TRY(const Array array, get_array(element, path));
  std::vector<PointId> ids;
  ids.reserve(array.size());
  for (const Element item : array) {
    QV_TRY(const PointId id, decode_id(item, path.item(ids.size())));
    ids.push_back(id);
  }
  return ids;
}

Decoded<engine::QueryVector> decode_query_vector(Element element, const Path& path) {
  if (element.is_number() || element.is_string()) {
    QV_TRY(const PointId id, decode_id(element, path));
    return engine::QueryVector(id);
  }
  QV_TRY(auto vector, decode_vector(element, path));
  return engine::QueryVector(std::move(vector));
}

Decoded<std::optional<payload::Filter>> decode_optional_filter(Object object, std::string_view name,
                                                               const Path& path) {
  const auto element = find(object, name);
  if (!element) return std::optional<payload::Filter>();
  QV_TRY(auto filter, decode_filter(*element, path.member(name)));
  return std::optional<payload::Filter>(std::move(filter));
}

Decoded<Selector> decode_with_payload(Object object, const Path& path, Selector otherwise) {
  const auto element = find(object, "with_payload");
  if (!element) return otherwise;
  const Path here = path.member("with_payload");
  if (element->is_bool()) {
    return as_bool(*element) ? Selector::all() : Selector::none();
  }
  if (element->is_array()) {
    QV_TRY(auto paths, decode_paths(*element, here));
    return Selector::include(std::move(paths));
  }
  if (element->is_object()) {
    return decode_selector_object(as_object(*element), here);
  }
  return wrong_type(*element, here, "a boolean, a list of keys, or an object");
}

Decoded<engine::VectorSelector> decode_with_vector(Object object, const Path& path) {
  engine::VectorSelector selector;
  const auto element = find(object, {"with_vector", "with_vectors"});
  if (!element) return selector;
  const Path here = path.member("with_vector");
  if (element->is_bool()) {
    selector.all = as_bool(*element);
  } else if (element->is_array()) {
    QV_TRY(selector.names, decode_strings(*element, here));
  } else {
    return wrong_type(*element, here, "a boolean or a list of names");
  }
  return selector;
}

Decoded<engine::OrderBy> decode_order_by(Element element, const Path& path) {
  engine::OrderBy order;
  if (element.is_string()) {
    order.key = as_string(element);
    return order;
  }
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(const Element key, require(object, "key", path));
  QV_TRY(order.key, get_string(key, path.member("key")));
  if (const auto direction = find(object, "direction")) {
    QV_TRY(const auto text, get_string(*direction, path.member("direction")));
    if (text != "asc" && text != "desc") {
      return format_error(path.member("direction"),
                          fmt::format("unknown variant `{}`, expected `asc` or `desc`", text));
    }
    order.descending = text == "desc";
  }
  if (const auto start = find(object, "start_from")) {
    QV_TRY(order.start_from, decode_start(*start, path.member("start_from")));
  }
  return order;
}

Decoded<std::vector<std::string>> decode_strings(Element element, const Path& path) {
  QV_TRY(const Array array, get_array(element, path));
  std::vector<std::string> strings;
  strings.reserve(array.size());
  for (const Element item : array) {
    QV_TRY(const auto text, get_string(item, path.item(strings.size())));
    strings.emplace_back(text);
  }
  return strings;
}

tl::unexpected<ApiError> out_of_range(const Path& path, std::string_view value,
                                      std::string_view wanted) {
  return validation_error(path, fmt::format("value {} invalid, must be {}", value, wanted));
}

Decoded<std::optional<ParamValue>> decode_param(Element element, const Path& path) {
  switch (element.type()) {
    case simdjson::dom::element_type::BOOL:
      return as_bool(element);
    case simdjson::dom::element_type::INT64:
      return as_int64(element);
    case simdjson::dom::element_type::DOUBLE:
      return as_double(element);
    case simdjson::dom::element_type::STRING:
      return std::string(as_string(element));
    case simdjson::dom::element_type::NULL_VALUE:
      return std::nullopt;
    default:
      return wrong_type(element, path, "a number, a boolean or a string");
  }
}

Decoded<std::uint64_t> decode_at_least(Object object, std::string_view name, const Path& path,
                                       std::uint64_t min, std::uint64_t otherwise) {
  const auto element = find(object, name);
  if (!element) return otherwise;
  const Path here = path.member(name);
  QV_TRY(const std::uint64_t value, get_u64(*element, here));
  if (value < min) {
    return out_of_range(here, std::to_string(value), fmt::format("{} or larger", min));
  }
  return value;
}

}  // namespace quiver::service::json

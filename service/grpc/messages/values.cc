#include "service/grpc/messages/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "service/grpc/messages/element_value.h"
#include "service/json/writer.h"

namespace quiver::service::rpc {
namespace {

using json::Element;

Decoded<> append_list(const qdrant::ListValue& list, const Path& path, std::string& out) {
  out += '[';
  for (int i = 0; i < list.values_size(); ++i) {
    if (i > 0) out += ',';
    QV_TRY(append_json(list.values(i), path.item(static_cast<std::size_t>(i)), out));
  }
  out += ']';
  return {};
}

Decoded<> append_number(double value, const Path& path, std::string& out) {
  if (!std::isfinite(value)) return format_error(path, fmt::format("{} is no JSON number", value));
  json::append_f64(out, value);
  return {};
}

void set_members(json::Object object, ValueMap& out) {
  for (const auto [name, value] : object) set_value(value, out[std::string(name)]);
}

void set_list(json::Array array, qdrant::ListValue& out) {
  out.mutable_values()->Reserve(static_cast<int>(array.size()));
  for (const Element item : array) set_value(item, *out.add_values());
}

}  // namespace

void set_value(Element element, qdrant::Value& out) {
  switch (element.type()) {
    case simdjson::dom::element_type::STRING: {
      const auto text = json::as_string(element);
      out.set_string_value(text.data(), text.size());
      return;
    }
    case simdjson::dom::element_type::INT64:
      return out.set_integer_value(json::as_int64(element));
    case simdjson::dom::element_type::UINT64:
      return out.set_double_value(static_cast<double>(json::as_uint64(element)));
    case simdjson::dom::element_type::DOUBLE:
      return out.set_double_value(json::as_double(element));
    case simdjson::dom::element_type::BOOL:
      return out.set_bool_value(json::as_bool(element));
    case simdjson::dom::element_type::NULL_VALUE:
      return out.set_null_value(qdrant::NULL_VALUE);
    case simdjson::dom::element_type::ARRAY:
      return set_list(json::as_array(element), *out.mutable_list_value());
    case simdjson::dom::element_type::OBJECT:
      return set_members(json::as_object(element), *out.mutable_struct_value()->mutable_fields());
  }
}

Decoded<> append_json(const qdrant::Value& value, const Path& path, std::string& out) {
  switch (value.kind_case()) {
    case qdrant::Value::kStringValue:
      json::append_string(out, value.string_value());
      return {};
    case qdrant::Value::kIntegerValue:
      fmt::format_to(std::back_inserter(out), "{}", value.integer_value());
      return {};
    case qdrant::Value::kDoubleValue:
      return append_number(value.double_value(), path, out);
    case qdrant::Value::kBoolValue:
      out += value.bool_value() ? "true" : "false";
      return {};
    case qdrant::Value::kStructValue:
      return append_json(value.struct_value().fields(), path, out);
    case qdrant::Value::kListValue:
      return append_list(value.list_value(), path, out);
    case qdrant::Value::kNullValue:
    case qdrant::Value::KIND_NOT_SET:
      break;
  }
  out += "null";
  return {};
}

Decoded<> append_json(const ValueMap& members, const Path& path, std::string& out) {
  // Messages have no order of members. By name, equal payloads are equal texts.
  std::vector<const ValueMap::value_type*> sorted;
  sorted.reserve(members.size());
  for (const auto& member : members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->first < b->first; });
  out += '{';
  for (const auto* member : sorted) {
    if (out.back() != '{') out += ',';
    json::append_string(out, member->first);
    out += ':';
    QV_TRY(append_json(member->second, path.member(member->first), out));
  }
  out += '}';
  return {};
}

Decoded<std::string> to_json(const ValueMap& members, const Path& path) {
  std::string text;
  QV_TRY(append_json(members, path, text));
  return text;
}

Decoded<> add_members(std::string& json, ValueMap& out) {
  if (json.empty() || json == "{}") return {};
  QV_TRY(const auto object, json::parse_object_body(json));
  set_members(object, out);
  return {};
}

}  // namespace quiver::service::rpc

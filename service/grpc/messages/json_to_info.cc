// From the JSON of a collection's info to its message.
#include <google/protobuf/message.h>

#include "payload/scalar/datetime.h"
#include "service/grpc/messages/config_names.h"
#include "service/grpc/messages/configs.h"
#include "service/grpc/messages/element_value.h"
#include "service/grpc/messages/timestamp.h"
#include "service/json/collection_parts.h"

namespace quiver::service::rpc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using json::Element;
using json::Object;

void set_message(Element element, Message& out);

void set_enum(Element element, const FieldDescriptor& field, Message& out) {
  if (!element.is_string()) return;
  const auto& type = *field.enum_type();
  for (int i = 0; i < type.value_count(); ++i) {
    if (json_name(*type.value(i)) != json::as_string(element)) continue;
    return out.GetReflection()->SetEnum(&out, &field, type.value(i));
  }
}

/// Leaves the field as it is if the element has another type.
void set_scalar(Element element, const FieldDescriptor& field, Message& out) {
  const auto& reflection = *out.GetReflection();
  const std::uint64_t number = element.is_uint64() ? json::as_uint64(element)
                               : element.is_int64()
                                   ? static_cast<std::uint64_t>(json::as_int64(element))
                                   : 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      if (!element.is_number()) return;
      return reflection.SetUInt32(&out, &field, static_cast<std::uint32_t>(number));
    case FieldDescriptor::CPPTYPE_UINT64:
      if (!element.is_number()) return;
      return reflection.SetUInt64(&out, &field, number);
    case FieldDescriptor::CPPTYPE_BOOL:
      if (!element.is_bool()) return;
      return reflection.SetBool(&out, &field, json::as_bool(element));
    case FieldDescriptor::CPPTYPE_FLOAT:
      if (!element.is_number()) return;
      return reflection.SetFloat(&out, &field, static_cast<float>(json::as_double(element)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      if (!element.is_number()) return;
      return reflection.SetDouble(&out, &field, json::as_double(element));
    case FieldDescriptor::CPPTYPE_STRING:
      if (!element.is_string()) return;
      return reflection.SetString(&out, &field, std::string(json::as_string(element)));
    case FieldDescriptor::CPPTYPE_ENUM:
      return set_enum(element, field, out);
    default:
      return;
  }
}

void set_map(Element element, const FieldDescriptor& field, Message& out) {
  if (!element.is_object()) return;
  const auto& entry_type = *field.message_type();
  for (const auto [name, value] : json::as_object(element)) {
    Message& entry = *out.GetReflection()->AddMessage(&out, &field);
    const auto& reflection = *entry.GetReflection();
    reflection.SetString(&entry, entry_type.map_key(), std::string(name));
    set_message(value, *reflection.MutableMessage(&entry, entry_type.map_value()));
  }
}

void add_item(Element element, const FieldDescriptor& field, Message& out) {
  const auto& reflection = *out.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return set_message(element, *reflection.AddMessage(&out, &field));
  }
  if (element.is_string()) {
    reflection.AddString(&out, &field, std::string(json::as_string(element)));
  }
}

void set_field(Element element, const FieldDescriptor& field, Message& out) {
  if (field.is_map()) return set_map(element, field, out);
  if (field.is_repeated()) {
    if (!element.is_array()) return;
    for (const Element item : json::as_array(element)) add_item(item, field, out);
    return;
  }
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return set_scalar(element, field, out);
  if (element.is_bool() && !json::as_bool(element)) return;  // a capability that is not there
  set_message(element, *out.GetReflection()->MutableMessage(&out, &field));
}

void set_member(Element element, const char* name, Message& out) {
  set_field(element, *out.GetDescriptor()->FindFieldByName(name), out);
}

void set_members(Object object, Message& out) {
  const auto& descriptor = *out.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (std::string_view(field.name()).starts_with("deprecated_")) continue;
    if (const auto value = json::find(object, json_name(field))) set_field(*value, field, out);
  }
}

void set_fields(Element element, Message& out) {
  const bool is_one = element.is_object() && json::is_unnamed(json::as_object(element));
  set_member(element, is_one ? "params" : "params_map", out);
}

void set_optimizer_status(Element element, Message& out) {
  auto& status = static_cast<qdrant::OptimizerStatus&>(out);
  if (element.is_object()) return set_members(json::as_object(element), out);
  status.set_ok(true);
}

void set_threads(Element element, Message& out) {
  set_member(element, element.is_number() ? "value" : "setting", out);
}

void set_query_encoding(Element element, Message& out) { set_member(element, "setting", out); }

/// {"type": "keyword", …}
void set_index_params(Element element, Message& out) {
  if (!element.is_object()) return;
  const auto type = json::find(json::as_object(element), "type");
  if (!type || !type->is_string()) return;
  const auto name = std::string(json::as_string(*type)) + "_index_params";
  const auto* field = out.GetDescriptor()->FindFieldByName(name);
  if (field != nullptr) set_field(element, *field, out);
}

void set_stopwords(Element element, Message& out) {
  auto& words = static_cast<qdrant::StopwordsSet&>(out);
  if (element.is_object()) return set_members(json::as_object(element), out);
  if (element.is_string()) words.add_languages(std::string(json::as_string(element)));
}

void set_stemmer(Element element, Message& out) {
  auto& stemmer = static_cast<qdrant::StemmingAlgorithm&>(out);
  if (!element.is_object()) return;
  const auto language = json::find(json::as_object(element), "language");
  if (language && language->is_string()) {
    stemmer.mutable_snowball()->set_language(std::string(json::as_string(*language)));
  } else {
    stemmer.mutable_disabled();
  }
}

/// An RFC 3339 time.
void set_time(Element element, Message& out) {
  const auto time_us =
      element.is_string() ? payload::parse_datetime(json::as_string(element)) : std::nullopt;
  if (time_us) set_microseconds(*time_us, static_cast<google::protobuf::Timestamp&>(out));
}

void set_json_value(Element element, Message& out) {
  set_value(element, static_cast<qdrant::Value&>(out));
}

struct SpecialReader {
  std::string_view message;
  void (*set)(Element, Message&);
};
constexpr SpecialReader kReaders[] = {
    {"qdrant.VectorsConfig", set_fields},
    {"qdrant.OptimizerStatus", set_optimizer_status},
    {"qdrant.MaxOptimizationThreads", set_threads},
    {"qdrant.BinaryQuantizationQueryEncoding", set_query_encoding},
    {"qdrant.PayloadIndexParams", set_index_params},
    {"qdrant.StopwordsSet", set_stopwords},
    {"qdrant.StemmingAlgorithm", set_stemmer},
    {"qdrant.Value", set_json_value},
    {"google.protobuf.Timestamp", set_time},
};

void set_message(Element element, Message& out) {
  const auto& descriptor = *out.GetDescriptor();
  for (const auto& [name, set] : kReaders) {
    if (name == descriptor.full_name()) return set(element, out);
  }
  if (is_map_only(descriptor)) return set_map(element, *descriptor.field(0), out);
  if (element.is_object()) set_members(json::as_object(element), out);
}

}  // namespace

Decoded<> set_info(std::string& json, qdrant::CollectionInfo& out) {
  QV_TRY(const Object object, json::parse_object_body(json));
  set_members(object, out);
  return {};
}

}  // namespace quiver::service::rpc

// From messages to REST bodies.
#include <fmt/format.h>
#include <google/protobuf/message.h>

#include "service/grpc/messages/config_names.h"
#include "service/grpc/messages/configs.h"
#include "service/grpc/messages/values.h"
#include "service/json/writer.h"

namespace quiver::service::rpc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using json::Writer;

Decoded<> write_message(Writer& out, const Message& message, const Path& path);

Decoded<> write_enum(Writer& out, const google::protobuf::EnumDescriptor& type, int number,
                     const Path& path) {
  const auto* value = type.FindValueByNumber(number);
  const std::string name = value == nullptr ? std::string() : json_name(*value);
  if (name.empty()) return format_error(path, fmt::format("unknown variant `{}`", number));
  out.string(name);
  return {};
}

/// The value of a field that is no message and not repeated.
Decoded<> write_scalar(Writer& out, const Message& message, const FieldDescriptor& field,
                       const Path& path) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      out.u64(reflection.GetUInt32(message, &field));
      return {};
    case FieldDescriptor::CPPTYPE_UINT64:
      out.u64(reflection.GetUInt64(message, &field));
      return {};
    case FieldDescriptor::CPPTYPE_BOOL:
      out.boolean(reflection.GetBool(message, &field));
      return {};
    case FieldDescriptor::CPPTYPE_FLOAT:
      out.f32(reflection.GetFloat(message, &field));
      return {};
    case FieldDescriptor::CPPTYPE_DOUBLE:
      out.f64(reflection.GetDouble(message, &field));
      return {};
    case FieldDescriptor::CPPTYPE_STRING:
      out.string(reflection.GetString(message, &field));
      return {};
    case FieldDescriptor::CPPTYPE_ENUM:
      return write_enum(out, *field.enum_type(), reflection.GetEnumValue(message, &field), path);
    default:
      return format_error(path, fmt::format("a configuration holds no {}", field.cpp_type_name()));
  }
}

Decoded<> write_map(Writer& out, const Message& message, const FieldDescriptor& field,
                    const Path& path) {
  const auto& reflection = *message.GetReflection();
  const FieldDescriptor& key = *field.message_type()->map_key();
  const FieldDescriptor& value = *field.message_type()->map_value();
  out.begin_object();
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    const auto& entry_reflection = *entry.GetReflection();
    const std::string name = entry_reflection.GetString(entry, &key);
    out.escaped_key(name);
    QV_TRY(write_message(out, entry_reflection.GetMessage(entry, &value), path.member(name)));
  }
  out.end_object();
  return {};
}

Decoded<> write_strings(Writer& out, const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  out.begin_array();
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    out.string(reflection.GetRepeatedString(message, &field, i));
  }
  out.end_array();
  return {};
}

Decoded<> write_value(Writer& out, const Message& message, const FieldDescriptor& field,
                      const Path& path) {
  if (field.is_map()) return write_map(out, message, field, path);
  if (field.is_repeated()) return write_strings(out, message, field);
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return write_scalar(out, message, field, path);
  }
  return write_message(out, message.GetReflection()->GetMessage(message, &field), path);
}

bool is_given(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  if (field.is_repeated()) return reflection.FieldSize(message, &field) > 0;
  if (field.has_presence()) return reflection.HasField(message, &field);
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM) return true;
  const auto* value =
      field.enum_type()->FindValueByNumber(reflection.GetEnumValue(message, &field));
  return value == nullptr || !json_name(*value).empty();
}

/// Members that stand beside a body in REST.
bool is_outside(const FieldDescriptor& field) {
  return field.name() == "collection_name" || field.name() == "timeout";
}

/// The field that is set of a message with one oneof; nullptr if none is.
const FieldDescriptor* chosen(const Message& message) {
  const auto* choice = message.GetDescriptor()->oneof_decl(0);
  return message.GetReflection()->GetOneofFieldDescriptor(message, choice);
}

Decoded<> write_members(Writer& out, const Message& message, const Path& path) {
  const auto& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (is_outside(field) || !is_given(message, field)) continue;
    const std::string_view name = json_name(field);
    out.key(name);
    QV_TRY(write_value(out, message, field, path.member(name)));
  }
  return {};
}

/// Writes what is set of a message whose only members are in a oneof: the value without its name.
Decoded<> write_chosen(Writer& out, const Message& message, const Path& path) {
  const auto* field = chosen(message);
  if (field == nullptr) return format_error(path, "missing value");
  return write_value(out, message, *field, path);
}

/// A patch calls the unnamed field "".
Decoded<> write_vectors_patch(Writer& out, const Message& message, const Path& path) {
  const auto* field = chosen(message);
  if (field == nullptr || field->name() != "params") return write_chosen(out, message, path);
  out.begin_object();
  out.key("");
  QV_TRY(write_value(out, message, *field, path));
  out.end_object();
  return {};
}

Decoded<> write_quantization_patch(Writer& out, const Message& message, const Path& path) {
  const auto* field = chosen(message);
  if (field != nullptr && field->name() == "disabled") {
    out.string("Disabled");
    return {};
  }
  out.begin_object();
  QV_TRY(write_members(out, message, path));
  out.end_object();
  return {};
}

/// {"type": "snowball", "language": …}
Decoded<> write_stemmer(Writer& out, const Message& message, const Path& path) {
  const auto* field = chosen(message);
  const bool is_stemmer = field != nullptr && field->name() == "snowball";
  out.begin_object();
  out.member("type", is_stemmer ? "snowball" : "none");
  if (is_stemmer) {
    QV_TRY(write_members(out, message.GetReflection()->GetMessage(message, field), path));
  }
  out.end_object();
  return {};
}

Decoded<> write_json_value(Writer& out, const Message& message, const Path& path) {
  std::string text;
  QV_TRY(append_json(static_cast<const qdrant::Value&>(message), path, text));
  out.raw(text);
  return {};
}

Decoded<> write_true(Writer& out, const Message&, const Path&) {
  out.boolean(true);
  return {};
}

struct SpecialWriter {
  std::string_view message;
  Decoded<> (*write)(Writer&, const Message&, const Path&);
};
constexpr SpecialWriter kWriters[] = {
    {"qdrant.VectorsConfig", write_chosen},
    {"qdrant.VectorsConfigDiff", write_vectors_patch},
    {"qdrant.QuantizationConfigDiff", write_quantization_patch},
    {"qdrant.MaxOptimizationThreads", write_chosen},
    {"qdrant.BinaryQuantizationQueryEncoding", write_chosen},
    {"qdrant.StemmingAlgorithm", write_stemmer},
    {"qdrant.KeywordPrefixParams", write_true},
    {"qdrant.TextScoringParams", write_true},
    {"qdrant.Value", write_json_value},
};

Decoded<> write_message(Writer& out, const Message& message, const Path& path) {
  const auto& descriptor = *message.GetDescriptor();
  for (const auto& [name, write] : kWriters) {
    if (name == descriptor.full_name()) return write(out, message, path);
  }
  if (is_map_only(descriptor)) return write_map(out, message, *descriptor.field(0), path);
  out.begin_object();
  QV_TRY(write_members(out, message, path));
  out.end_object();
  return {};
}

Decoded<std::string> body_of(const Message& message) {
  std::string text;
  Writer out(text);
  QV_TRY(write_message(out, message, Path()));
  return text;
}

/// {"type": "keyword", …}, from the member `keyword_index_params`.
Decoded<> write_index_params(Writer& out, const qdrant::PayloadIndexParams& params,
                             const Path& path) {
  constexpr std::string_view kEnding = "_index_params";
  const auto* field = chosen(params);
  if (field == nullptr) return format_error(path, "missing parameters of an index");
  const std::string_view name = field->name();
  out.begin_object();
  out.member("type", name.substr(0, name.size() - kEnding.size()));
  QV_TRY(write_members(out, params.GetReflection()->GetMessage(params, field), path));
  out.end_object();
  return {};
}

}  // namespace

Decoded<std::string> json_of(const qdrant::CreateCollection& request) { return body_of(request); }

Decoded<std::string> json_of(const qdrant::UpdateCollection& request) { return body_of(request); }

Decoded<std::string> json_of(const qdrant::CreateFieldIndexCollection& request) {
  const Path root;
  const Path at_schema = root.member("field_schema");
  std::string text;
  Writer out(text);
  out.begin_object();
  out.member("field_name", std::string_view(request.field_name()));
  if (request.has_field_index_params()) {
    out.key("field_schema");
    QV_TRY(write_index_params(out, request.field_index_params(), at_schema));
  } else if (request.has_field_type()) {
    out.key("field_schema");
    QV_TRY(write_enum(out, *qdrant::FieldType_descriptor(), request.field_type(), at_schema));
  }
  out.end_object();
  return text;
}

Decoded<std::string> json_of(const qdrant::CreateVectorNameRequest& request) {
  const Path root;
  std::string text;
  Writer out(text);
  out.begin_object();
  if (request.has_dense_config()) {
    out.key("dense");
    QV_TRY(write_message(out, request.dense_config(), root.member("dense_config")));
  } else if (request.has_sparse_config()) {
    out.key("sparse");
    QV_TRY(write_message(out, request.sparse_config(), root.member("sparse_config")));
  }
  out.end_object();
  return text;
}

}  // namespace quiver::service::rpc

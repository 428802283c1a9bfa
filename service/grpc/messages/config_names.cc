#include "service/grpc/messages/config_names.h"

#include <array>
#include <cctype>
#include <utility>

namespace quiver::service::rpc {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;
constexpr std::array kFields = {
    Pair{"vectors_config", "vectors"},
    Pair{"sparse_vectors_config", "sparse_vectors"},
    Pair{"deprecated_max_optimization_threads", "max_optimization_threads"},
};

bool is_unsaid(std::string_view name, std::string_view of) {
  return name.starts_with("Unknown") || name == "MemoryUnknown" ||
         (name == "Default" && of == "qdrant.Datatype");
}

}  // namespace

std::string json_name(const google::protobuf::EnumValueDescriptor& value) {
  const std::string& of = value.type()->full_name();
  std::string_view name = value.name();
  if (is_unsaid(name, of)) return {};
  if (of == "qdrant.Distance") return std::string(name);
  constexpr std::string_view kFieldType = "FieldType";
  if (of == "qdrant.FieldType") name.remove_prefix(kFieldType.size());
  std::string text;
  for (const char c : name) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    const bool after_lower =
        !text.empty() && std::islower(static_cast<unsigned char>(text.back())) != 0;
    if (is_upper && after_lower) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

std::string_view json_name(const google::protobuf::FieldDescriptor& field) {
  for (const auto& [name, json] : kFields) {
    if (name == field.name()) return json;
  }
  return field.name();
}

bool is_map_only(const google::protobuf::Descriptor& message) {
  return message.field_count() == 1 && message.field(0)->is_map();
}

}  // namespace quiver::service::rpc

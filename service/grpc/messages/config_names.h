// How names of messages and of JSON correspond, where they differ.
#pragma once

#include <google/protobuf/descriptor.h>
#include <string>
#include <string_view>

namespace quiver::service::rpc {

/// "OneAndHalfBits": "one_and_half_bits". Metrics keep their spelling. "" for values that mean
/// "not said".
[[nodiscard]] std::string json_name(const google::protobuf::EnumValueDescriptor& value);
/// `vectors_config`: `vectors`.
[[nodiscard]] std::string_view json_name(const google::protobuf::FieldDescriptor& field);
/// True for a message that only wraps a map; in JSON, the map stands for it.
[[nodiscard]] bool is_map_only(const google::protobuf::Descriptor& message);

}  // namespace quiver::service::rpc

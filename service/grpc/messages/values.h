// JSON values of messages, and payloads as canonical JSON text.
#pragma once

#include <google/protobuf/map.h>
#include <string>

#include "proto/values.pb.h"
#include "service/json/error.h"

namespace quiver::service::rpc {

using ValueMap = google::protobuf::Map<std::string, qdrant::Value>;

/// Appends JSON text. 400 for a number that JSON cannot say.
[[nodiscard]] Decoded<> append_json(const qdrant::Value& value, const Path& path, std::string& out);
/// An object, its members by name.
[[nodiscard]] Decoded<> append_json(const ValueMap& members, const Path& path, std::string& out);
[[nodiscard]] Decoded<std::string> to_json(const ValueMap& members, const Path& path);

/// Adds the members of a JSON object. `json` is parsed in place. An integer that 64 bits with a
/// sign cannot hold becomes a fraction.
[[nodiscard]] Decoded<> add_members(std::string& json, ValueMap& out);

}  // namespace quiver::service::rpc

// JSON elements as values of messages. Includes simdjson, which is heavy.
#pragma once

#include "proto/values.pb.h"
#include "service/json/element.h"

namespace quiver::service::rpc {

/// An integer that 64 bits with a sign cannot hold becomes a fraction.
void set_value(json::Element element, qdrant::Value& out);

}  // namespace quiver::service::rpc

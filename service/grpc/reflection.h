// Answers which services and messages there are, for clients that explore (grpcurl).
#pragma once

#include "proto/reflection.pb.h"

namespace quiver::service::rpc {

/// Knows the services of proto/. An error is part of the answer.
[[nodiscard]] grpc::reflection::v1alpha::ServerReflectionResponse reflect(
    const grpc::reflection::v1alpha::ServerReflectionRequest& request);

}  // namespace quiver::service::rpc

// The span of a gRPC call.
#pragma once

#include "service/grpc/rpc.h"
#include "service/grpc/wire.h"
#include "service/tracing/span.h"

namespace quiver::service::rpc {

/// Ends the trace of a call that ended with `code`, with attributes under the names of
/// OpenTelemetry's conventions for RPC.
[[nodiscard]] tracing::RequestSpan call_span(Rpc& call, int code, const RequestHead& head);

}  // namespace quiver::service::rpc

#include "service/grpc/call_span.h"

#include <algorithm>
#include <array>

namespace quiver::service::rpc {
namespace {

struct StatusCode {
  std::string_view name;
  bool is_servers_fault = false;  ///< as the conventions for servers say
};
/// By number.
constexpr std::array kStatusCodes = {StatusCode{"OK"},
                                     StatusCode{"CANCELLED"},
                                     StatusCode{"UNKNOWN", true},
                                     StatusCode{"INVALID_ARGUMENT"},
                                     StatusCode{"DEADLINE_EXCEEDED", true},
                                     StatusCode{"NOT_FOUND"},
                                     StatusCode{"ALREADY_EXISTS"},
                                     StatusCode{"PERMISSION_DENIED"},
                                     StatusCode{"RESOURCE_EXHAUSTED"},
                                     StatusCode{"FAILED_PRECONDITION"},
                                     StatusCode{"ABORTED"},
                                     StatusCode{"OUT_OF_RANGE"},
                                     StatusCode{"UNIMPLEMENTED", true},
                                     StatusCode{"INTERNAL", true},
                                     StatusCode{"UNAVAILABLE", true},
                                     StatusCode{"DATA_LOSS", true},
                                     StatusCode{"UNAUTHENTICATED"}};

}  // namespace

tracing::RequestSpan call_span(Rpc& call, int code, const RequestHead& head) {
  const std::string_view path = call.method().name;  // "/qdrant.Points/Upsert"
  const std::string_view name = path.substr(1);
  const auto slash = name.find('/');
  const StatusCode& status =
      kStatusCodes[std::min(static_cast<std::size_t>(code), kStatusCodes.size() - 1)];
  tracing::RequestSpan span = call.trace().finish();
  if (!head.traceparent.empty()) span.tracestate = head.tracestate;
  span.name = name;
  span.set("rpc.system", "grpc");
  span.set("rpc.service", name.substr(0, slash));
  span.set("rpc.method", name.substr(slash + 1));
  span.set("rpc.grpc.status_code", code);
  tracing::set_server(span, head.authority);
  tracing::set_collection(span, call.collection());
  span.is_error = status.is_servers_fault;
  if (span.is_error) span.set("error.type", status.name);
  return span;
}

}  // namespace quiver::service::rpc

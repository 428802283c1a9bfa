// Spans as a collector reads them: OTLP 1 in protobuf (opentelemetry.io/docs/specs/otlp). One file
// knows the messages of proto/traces.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "service/tracing/span_queue.h"

namespace quiver::service::tracing {

/// Who sends the spans.
struct Resource {
  std::string service_name;
  std::string service_version;
  std::string instance_id;  ///< of the process
  std::string host_name;
};

/// The body of a request to a collector. Texts are cut to 256 bytes; what is no UTF-8 in them is
/// replaced, since a collector refuses the whole request for it.
[[nodiscard]] std::string encode_spans(const Resource& resource, const SpanBatch& batch);
/// The number of spans that the collector says it did not take. 0 for a body that is no answer.
[[nodiscard]] std::uint64_t rejected_spans(std::string_view answer);

}  // namespace quiver::service::tracing

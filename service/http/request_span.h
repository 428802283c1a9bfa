// The span of an HTTP request.
#pragma once

#include <string_view>

#include "service/http/exchange/exchange.h"
#include "service/tracing/span.h"

namespace quiver::service {

/// Ends the trace of an answered request, with attributes under the names of OpenTelemetry's
/// conventions for HTTP servers. `collection`: as the caller wrote it; "": none.
[[nodiscard]] tracing::RequestSpan request_span(Exchange& exchange, std::string_view collection);

}  // namespace quiver::service

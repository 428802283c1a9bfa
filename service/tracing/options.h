// What an operator sets for traces.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/client/http.h"

namespace quiver::service::tracing {

struct TracingOptions {
  std::string endpoint;  ///< "http://host:4318/v1/traces"; "": no traces
  std::string
      ca_cert;  ///< PEM file of those who sign the collector's certificate; "": the system's
  std::string headers;  ///< "name=value" between commas; secret
  std::string service_name = "quiver";
  double sample_ratio = 1;  ///< share of the requests without `traceparent` that are traced, 0 to 1
  double timeout_s = 10;    ///< of one request to the collector
  double interval_s = 5;    ///< a span waits for others so long at most
  std::size_t max_queued_spans = 2048;  ///< waiting spans; more are dropped

  [[nodiscard]] bool is_on() const { return !endpoint.empty(); }
};

/// Where spans are posted to.
struct Collector {
  client::Endpoint server;
  std::string target;  ///< path and query
};

/// Parses "http://HOST[:PORT][/PATH]" or "https://…". The port is 80 or 443 unless it is given, the
/// path `/v1/traces`. kInvalidArgument for anything else.
[[nodiscard]] Result<Collector> parse_collector(std::string_view url);

using Headers = std::vector<std::pair<std::string, std::string>>;
/// Parses "name=value" between commas, with values percent-encoded where they need it (W3C
/// Baggage, as OpenTelemetry's variables). kInvalidArgument, without values, if a name is no name
/// of a header or one that the server sets itself, or a value is no value of one.
[[nodiscard]] Result<Headers> parse_headers(std::string_view text);

}  // namespace quiver::service::tracing

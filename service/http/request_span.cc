#include "service/http/request_span.h"

#include <string>

#include "service/http/front.h"
#include "service/http/router.h"

namespace quiver::service {
namespace {

constexpr int kFirstServerError = 500;

/// Without its query, which may hold more than an operator wants to keep.
std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

}  // namespace

tracing::RequestSpan request_span(Exchange& exchange, std::string_view collection) {
  const Request& request = exchange.request;
  const bool is_known = request.method != Method::kOther;
  const std::string_view route =
      exchange.route == nullptr ? std::string_view() : exchange.route->declaration().pattern;
  const int status = exchange.response.status;
  tracing::RequestSpan span = exchange.trace().finish();
  if (!request.traceparent.empty()) span.tracestate = request.tracestate;
  span.name = is_known ? to_string(request.method) : "HTTP";
  if (!route.empty()) (span.name += ' ') += route;
  span.set("http.request.method", is_known ? to_string(request.method) : "_OTHER");
  span.set("http.route", route);
  span.set("url.path", path_of(request.target));
  span.set("url.scheme", exchange.front().options().is_https ? "https" : "http");
  span.set("http.response.status_code", status);
  tracing::set_server(span, request.host);
  tracing::set_collection(span, collection);
  span.is_error = status >= kFirstServerError;
  if (span.is_error) span.set("error.type", std::to_string(status));
  return span;
}

}  // namespace quiver::service

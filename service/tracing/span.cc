#include "service/tracing/span.h"

#include <charconv>

namespace quiver::service::tracing {

void set_server(RequestSpan& span, std::string_view authority) {
  const auto colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && !authority.ends_with(']');
  const std::string_view port = has_port ? authority.substr(colon + 1) : std::string_view();
  std::uint16_t number = 0;
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool is_port =
      !port.empty() && parsed.ec == std::errc() && parsed.ptr == port.data() + port.size();
  span.set("server.address", is_port ? authority.substr(0, colon) : authority);
  if (is_port) span.set("server.port", number);
}

void set_collection(RequestSpan& span, std::string_view name) {
  if (name.empty()) return;
  span.set("db.system.name", "quiver");
  span.set("db.collection.name", name);
}

}  // namespace quiver::service::tracing

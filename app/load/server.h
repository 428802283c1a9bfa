// What the server says of itself beside the measurement: before it, and after.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/client/http.h"
#include "app/load/load.h"

namespace quiver::app {

/// `process_cpu_seconds_total` of a Prometheus text, whatever prefix it has.
[[nodiscard]] std::optional<double> cpu_seconds_of(std::string_view metrics);
/// Whether an answer to GET /collections/{c} says a status other than green.
[[nodiscard]] bool is_not_green(std::string_view info);
/// Whether an answer to GET /collections/{c}/optimizations names some that run.
[[nodiscard]] bool names_running(std::string_view optimizations);

/// One look at the server. What it does not tell is nullopt, or empty, or taken for rest.
struct ServerLook {
  std::optional<double> cpu_s;  ///< of the process since it began
  bool background = false;      ///< it builds, merges or vacuums segments of the collection
  std::string commit;           ///< that it was built from
};
[[nodiscard]] ServerLook look_at_server(const Endpoint& endpoint, const LoadOptions& options);

}  // namespace quiver::app

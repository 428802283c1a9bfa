// What the server reports about itself before and after a measurement.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bench/load/load.h"
#include "service/client/http.h"

namespace quiver::bench {

/// Finds `process_cpu_seconds_total`, with any prefix, in a Prometheus text.
[[nodiscard]] std::optional<double> cpu_seconds_of(std::string_view metrics);
/// True if an answer to GET /collections/{c} has a status other than green.
[[nodiscard]] bool is_not_green(std::string_view info);
/// True if an answer to GET /collections/{c}/optimizations lists running ones.
[[nodiscard]] bool names_running(std::string_view optimizations);

/// The state of the server. A fact it does not report is nullopt, empty or false.
struct ServerLook {
  std::optional<double> cpu_s;  ///< CPU time of the process since its start
  bool background = false;  ///< true while it builds, merges or vacuums segments of the collection
  std::string commit;       ///< commit of its binary
};
[[nodiscard]] ServerLook look_at_server(const client::Endpoint& endpoint,
                                        const LoadOptions& options);

}  // namespace quiver::bench

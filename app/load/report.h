// What a load run found, as a table for people or as one JSON line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "app/ann/machine.h"
#include "app/load/load.h"
#include "app/load/loop.h"
#include "app/load/recall.h"

namespace quiver::app {

struct Percentiles {
  double p50 = 0, p95 = 0, p99 = 0, p999 = 0, max = 0;
};
/// By nearest rank; all 0 for no values.
[[nodiscard]] Percentiles percentiles(std::vector<double> values);

struct LoadReport {
  LoopResult loop;
  std::uint64_t n_points = 0;  ///< in requests that succeeded; 0 for searches
  std::optional<double> server_cpu_s;
  bool background = false;  ///< `server_cpu_s` contains building or merging of segments
  std::string commit;       ///< of the server; empty if it does not tell
  std::optional<NetworkRecall> recall;
  double writer_cpu_s = 0;  ///< of the thread that wrote the bodies
  std::uint64_t sent_bytes = 0;
  Calibration calibration_before, calibration_after;  ///< of the generator's machine
  std::int64_t unix_seconds = 0;                      ///< when it was measured
};

[[nodiscard]] std::string to_table(const LoadReport& report, const LoadOptions& options);
/// One line, without its end.
[[nodiscard]] std::string to_json(const LoadReport& report, const LoadOptions& options);

}  // namespace quiver::app

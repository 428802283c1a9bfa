// The report of a load run: a table for people or one JSON line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bench/common/machine.h"
#include "bench/load/load.h"
#include "bench/load/loop.h"
#include "bench/load/recall.h"

namespace quiver::bench {

struct Percentiles {
  double p50 = 0, p95 = 0, p99 = 0, p999 = 0, max = 0;
};
/// Nearest rank; all 0 for no values.
[[nodiscard]] Percentiles percentiles(std::vector<double> values);

struct LoadReport {
  LoopResult loop;
  std::uint64_t n_points = 0;  ///< points of successful upserts; 0 for searches
  std::optional<double> server_cpu_s;
  bool background = false;  ///< true if `server_cpu_s` includes building or merging of segments
  std::string commit;       ///< commit of the server; empty if unknown
  std::optional<NetworkRecall> recall;
  double writer_cpu_s = 0;  ///< CPU time of the thread that writes bodies
  std::uint64_t sent_bytes = 0;
  Calibration calibration_before, calibration_after;  ///< speed of the load generator's machine
  std::int64_t unix_seconds = 0;                      ///< start of the measurement
};

[[nodiscard]] std::string to_table(const LoadReport& report, const LoadOptions& options);
/// One JSON line, without the line feed.
[[nodiscard]] std::string to_json(const LoadReport& report, const LoadOptions& options);

}  // namespace quiver::bench

// Measures one point: passes over all queries, every call timed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/threads/executor.h"
#include "bench/ann/search.h"

namespace quiver::bench {

/// The same for all points of a run.
struct MeasureOptions {
  std::size_t threads = 1;
  std::size_t batch = 1;  ///< queries per call
  std::size_t repeats = 5;
  std::size_t warmup = 1;  ///< passes before the first repeat
  double min_seconds = 0.2;
  std::uint64_t seed = 1;
};

struct Measurement {
  std::vector<double> qps;                    ///< one per repeat
  std::vector<double> latencies_us;           ///< one per call, over all repeats
  double cpu_us = 0;                          ///< CPU time of the process per query
  double cpu_share = 0;                       ///< CPU time / wall time of the searching threads
  index::WorkCounters work;                   ///< work of one pass
  std::vector<std::vector<index::Hit>> hits;  ///< hits of the last pass, one list per query
};

/// Shuffles the queries before every pass, by the seed. A thread that finishes a call takes the
/// next one. `executor` has at least `threads - 1` threads.
[[nodiscard]] Result<Measurement> measure(const SearchSetup& setup, const MeasureOptions& method,
                                          Executor& executor);

}  // namespace quiver::bench

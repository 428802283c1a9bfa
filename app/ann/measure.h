// One measured point: passes over the queries, timed call by call.
#pragma once

#include <cstdint>
#include <vector>

#include "app/ann/search.h"
#include "base/result.h"
#include "base/threads/executor.h"

namespace quiver::app {

/// How it is measured; the same for all points of a run.
struct Method {
  std::size_t threads = 1;
  std::size_t batch = 1;  ///< queries per call
  std::size_t repeats = 5;
  std::size_t warmup = 1;  ///< passes before the first repeat
  double min_seconds = 0.2;
  std::uint64_t seed = 1;
};

struct Measurement {
  std::vector<double> qps;           ///< one for each repeat
  std::vector<double> latencies_us;  ///< of every call in every repeat
  double cpu_us = 0;                 ///< of the process per query
  double cpu_share = 0;              ///< CPU time / wall time of the threads while they searched
  index::WorkCounters work;          ///< of one pass
  std::vector<std::vector<index::Hit>> hits;  ///< of each query, from the last pass
};

/// The queries go round in an order drawn from the seed, another one for every pass; each thread
/// takes the next call when it is done with one. `executor` has at least `threads - 1` threads.
[[nodiscard]] Result<Measurement> measure(const SearchSetup& setup, const Method& method,
                                          Executor& executor);

}  // namespace quiver::app

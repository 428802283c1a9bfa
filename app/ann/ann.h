// `quiver bench ann`: an index in this process, swept over its search parameters: recall, rate,
// latency, cost of building, memory. How to read it: docs/benchmarks.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace quiver::app {

struct AnnOptions {
  std::string base;          ///< source of vectors (dataset/vectors.h)
  std::string queries;       ///< of the same kind
  std::string ground_truth;  ///< ids of the best rows of `base`; empty: computed, and kept
  std::string kind = "dense";
  std::string metric = "dot";
  std::string dtype = "f32";  ///< the rows are kept as this
  std::string index = "flat";
  std::string build;               ///< "key=value,…"
  std::vector<std::string> sweep;  ///< "key=value,…" each: several make a grid
  std::string rows;                ///< "FIRST:END" of `base`; empty: all
  std::string query_rows;
  std::uint32_t k = 10;
  std::uint32_t threads = 1;
  std::uint32_t batch = 1;  ///< queries per call
  std::uint32_t repeats = 5;
  std::uint32_t warmup = 1;            ///< passes over the queries before measuring
  double min_seconds = 0.2;            ///< a repeat makes whole passes until it took this long
  std::uint32_t build_threads = 0;     ///< 0: one per hardware thread
  std::vector<double> recall_targets;  ///< each in (0, 1]
  std::string data;                    ///< name of the set; empty: from `base`
  std::string json;                    ///< file for one JSON line per point
  std::string cache;                   ///< directory; empty: $XDG_CACHE_HOME/quiver
  std::uint64_t seed = 1;              ///< of the build and of the order of queries
  std::size_t calibration_bytes = 0;   ///< read by the calibration; 0: more than caches hold
};

/// What is wrong with the flags whatever the files hold: words, ranges, parameters that the index
/// does not have.
[[nodiscard]] Result<> check_usage(const AnnOptions& options);

/// Runs it, prints the table, writes the JSON lines (after every point, so that an interrupted run
/// leaves what it has).
[[nodiscard]] Result<> run_ann(const AnnOptions& options);

}  // namespace quiver::app

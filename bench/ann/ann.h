// `quiver bench ann`: builds an index in this process and sweeps its search parameters. Reports
// recall, rate, latency, build cost and memory; docs/benchmarks.md explains the figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace quiver::bench {

struct AnnOptions {
  std::string base;          ///< source of vectors (dataset/vectors.h)
  std::string queries;       ///< source of query vectors, of the same kind
  std::string ground_truth;  ///< source of the ids of the best rows; empty: computed and cached
  std::string kind = "dense";
  std::string metric = "dot";
  std::string dtype = "f32";  ///< type of the stored values
  std::string index = "flat";
  std::string build;               ///< "key=value,…"
  std::vector<std::string> sweep;  ///< "key=a,b,c" each; several form a grid
  std::string filter;              ///< "uniform:S", "near:S", "far:S" or "rows:SOURCE"; empty: none
  std::string rows;                ///< "FIRST:END" of `base`; empty: all
  std::string query_rows;
  std::uint32_t k = 10;
  std::uint32_t threads = 1;
  std::uint32_t batch = 1;  ///< queries per call
  std::uint32_t repeats = 5;
  std::uint32_t warmup = 1;            ///< passes over the queries before measuring
  double min_seconds = 0.2;            ///< shortest repeat; a repeat consists of whole passes
  std::uint32_t build_threads = 0;     ///< 0: one per hardware thread
  std::vector<double> recall_targets;  ///< each in (0, 1]
  std::string data;                    ///< name of the data set in reports; empty: `base`
  std::string json;                    ///< file for one JSON line per measured point
  std::string cache;  ///< directory for ground truth and indexes; empty: $XDG_CACHE_HOME/quiver
  std::uint64_t seed = 1;  ///< for the build and the order of queries
  std::size_t calibration_bytes =
      0;               ///< memory that a calibration reads; 0: more than the caches hold
  std::string commit;  ///< commit of this binary, for the JSON lines; empty if unknown
};

/// Checks the flags without reading files: words, ranges, parameters the index does not have.
[[nodiscard]] Result<> check_usage(const AnnOptions& options);

/// Measures every point of the grid and prints the table. Writes the JSON lines after each point,
/// so that an interrupted run keeps its results.
[[nodiscard]] Result<> run_ann(const AnnOptions& options);

}  // namespace quiver::bench

// `quiver bench load`: sends HTTP requests to a running server, in a closed or an open loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace quiver::bench {

struct LoadOptions {
  std::string url = "http://127.0.0.1:6333";
  std::string collection;
  std::string api_key;
  std::string queries;  ///< source of query vectors (dataset/vectors.h); either this or `ingest`
  std::string ingest;   ///< source of dense vectors to upsert
  std::string kind = "dense";  ///< kind of `queries`: dense, sparse or multi
  std::string rows;            ///< "FIRST:END" of the source; empty: all
  std::string vector_name;
  std::uint32_t connections = 1;
  std::uint32_t pipeline = 1;
  double rate = 0;         ///< arrivals per second (Poisson); 0: a closed loop
  std::uint64_t seed = 1;  ///< for the arrival times
  bool json = false;
  std::string data;  ///< name of the data set in reports; empty: `collection`
  std::size_t calibration_bytes =
      0;  ///< memory that a calibration reads; 0: more than the caches hold

  double duration_s = 0;       ///< length of the run; 0: `requests` decides
  std::uint64_t requests = 0;  ///< 0: `duration_s` decides; both 0: ten seconds
  std::uint64_t warmup = 100;
  std::uint32_t k = 10;
  std::string ground_truth;  ///< source of ids; empty: recall is not measured
  std::string params;
  std::string filter;
  bool with_payload = false;

  std::string payload;  ///< JSON lines
  std::uint32_t batch = 500;
  bool wait = true;
  std::string create;        ///< body of PUT /collections/{c}; empty: the collection exists
  std::uint32_t queue = 16;  ///< batches written ahead; 0: all before the run starts
};

/// Checks the flags without reading files.
[[nodiscard]] Result<> check_usage(const LoadOptions& options);

/// Runs the load and prints the report. Fails if the server cannot be reached, the files do not
/// fit, or no request succeeded.
[[nodiscard]] Result<> run_load(const LoadOptions& options);

}  // namespace quiver::bench

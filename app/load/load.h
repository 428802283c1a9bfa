// `quiver bench load`: HTTP requests against a running server, in a closed or an open loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace quiver::app {

struct LoadOptions {
  std::string url = "http://127.0.0.1:6333";
  std::string collection;
  std::string api_key;
  std::string queries;         ///< source of vectors (dataset/vectors.h); this or `ingest`
  std::string ingest;          ///< source of dense vectors
  std::string kind = "dense";  ///< of `queries`: dense, sparse or multi
  std::string rows;            ///< "FIRST:END"; empty: all
  std::string vector_name;
  std::uint32_t connections = 1;
  std::uint32_t pipeline = 1;
  double rate = 0;         ///< arrivals per second (Poisson); 0: a closed loop
  std::uint64_t seed = 1;  ///< of the arrivals
  bool json = false;
  std::string data;                   ///< name of the set in reports; empty: `collection`
  std::size_t calibration_bytes = 0;  ///< as `AnnOptions`

  double duration_s = 0;       ///< 0: by `requests`
  std::uint64_t requests = 0;  ///< 0: by `duration_s`; both 0: ten seconds
  std::uint64_t warmup = 100;
  std::uint32_t k = 10;
  std::string ground_truth;  ///< source of ids; empty: recall is not told
  std::string params;
  std::string filter;
  bool with_payload = false;

  std::string payload;  ///< JSON lines
  std::uint32_t batch = 500;
  bool wait = true;
  std::string create;        ///< body of PUT /collections/{c}; empty: it exists
  std::uint32_t queue = 16;  ///< batches ahead; 0: all
};

/// What is wrong with the flags whatever the files hold.
[[nodiscard]] Result<> check_usage(const LoadOptions& options);

/// Runs it and prints the report. An error if the server cannot be reached, the files do not fit,
/// or no request at all succeeded.
[[nodiscard]] Result<> run_load(const LoadOptions& options);

}  // namespace quiver::app

// Sends requests over a fixed number of connections, on one thread. In a closed loop every
// connection keeps a number of requests in flight. In an open loop requests arrive by a clock,
// whatever the server does. Latency counts from the arrival, so a slow answer does not hide how
// long later requests wait (coordinated omission).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/client/http.h"

namespace quiver::bench {

/// A complete request: head and body.
using RequestText = std::shared_ptr<const std::string>;

/// Where the loop takes its requests from. Called by the loop's thread only.
class RequestSource {
 public:
  enum class State { kReady, kLater, kEnd, kOutOfTime };
  virtual ~RequestSource() = default;
  /// kReady sets `request`. After kLater the loop asks again within a millisecond. kEnd: no more
  /// requests. kOutOfTime: as kEnd, and an open loop counts the arrivals it could not send.
  virtual State next(RequestText& request) = 0;
};

struct LoopOptions {
  std::uint32_t connections = 1;
  std::uint32_t pipeline = 1;  ///< requests in flight per connection, at most
  double rate = 0;             ///< arrivals per second (Poisson); 0: a closed loop
  std::uint64_t seed = 1;      ///< seed of the arrival times
};

struct LoopResult {
  std::vector<double> latencies_us;  ///< latencies of answers with status 200, as they arrived
  /// Open loop: times from the arrival of a request until it got a connection.
  std::vector<double> waits_us;
  std::uint64_t n_errors = 0;  ///< other answers, and requests on connections that broke
  std::string first_error;
  /// Open loop: arrivals before the end that found no free connection. No percentile contains
  /// their waits.
  std::uint64_t n_unsent = 0;
  std::uint64_t n_starved = 0;  ///< times that a connection waited for the source
  double seconds = 0;           ///< from the first request to the last answer
  double client_cpu_s = 0;      ///< CPU time of this thread
  double client_user_s = 0;     ///< user part of `client_cpu_s`
};

/// Connects and runs until the source ends and every request is answered. kUnavailable if the
/// server cannot be reached or sends nothing for a minute.
[[nodiscard]] Result<LoopResult> run_loop(const client::Endpoint& endpoint, RequestSource& source,
                                          const LoopOptions& options);

}  // namespace quiver::bench

// Requests over a fixed number of connections, on one thread. In a closed loop every connection
// keeps a number of requests in flight. In an open loop requests arrive by a clock, whatever the
// server does, and their latency counts from that moment: a slow answer does not hide the wait of
// those behind it (coordinated omission).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/client/http.h"
#include "base/result.h"

namespace quiver::app {

/// A request as it goes over the wire, ready before it is needed.
using RequestText = std::shared_ptr<const std::string>;

/// Where the loop takes its requests from. Called by the thread of the loop only.
class RequestSource {
 public:
  enum class State { kReady, kLater, kEnd, kOutOfTime };
  virtual ~RequestSource() = default;
  /// kReady sets `request`. After kLater the loop asks again within a millisecond. kOutOfTime is
  /// kEnd for an open loop whose arrivals would go on.
  virtual State next(RequestText& request) = 0;
};

struct LoopOptions {
  std::uint32_t connections = 1;
  std::uint32_t pipeline = 1;  ///< requests in flight per connection, at most
  double rate = 0;             ///< arrivals per second (Poisson); 0: a closed loop
  std::uint64_t seed = 1;      ///< of the arrivals
};

struct LoopResult {
  std::vector<double> latencies_us;  ///< of answers with status 200, as they came
  /// Open loop: from arrival until a connection was free and this thread came to it.
  std::vector<double> waits_us;
  std::uint64_t n_errors = 0;  ///< other answers, and requests on connections that broke
  std::string first_error;
  /// Open loop: arrivals before the end that no connection was free for. Their waits are in no
  /// percentile.
  std::uint64_t n_unsent = 0;
  std::uint64_t n_starved = 0;  ///< times that a connection had to wait for the source
  double seconds = 0;           ///< from the first request to the last answer
  double client_cpu_s = 0;      ///< of this thread
  double client_user_s = 0;     ///< of that, not in the kernel
};

/// Connects, then runs until the source ends and everything is answered. kUnavailable if the server
/// cannot be reached, or keeps silent for a minute.
[[nodiscard]] Result<LoopResult> run_loop(const Endpoint& endpoint, RequestSource& source,
                                          const LoopOptions& options);

}  // namespace quiver::app

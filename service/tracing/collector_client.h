// One collector, to which spans are posted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "service/client/server_connection.h"
#include "service/tracing/options.h"

namespace quiver::service::tracing {

/// What became of a post.
struct PostOutcome {
  bool is_taken = false;
  bool may_be_repeated = false;         ///< not taken, but perhaps later
  std::chrono::seconds retry_after{0};  ///< at least; what the collector asks for
  std::uint64_t n_rejected = 0;         ///< spans of a post that was taken otherwise
  std::string reason;                   ///< why it was not taken; holds nothing secret
};

/// Posts from one thread, over a connection that is kept.
class CollectorClient {
 public:
  using Clock = std::chrono::steady_clock;

  CollectorClient(const Collector& collector, const Headers& headers);

  /// Posts a body of OTLP. Ends at `deadline` at the latest; looking up the collector's name has
  /// the system's own limit.
  [[nodiscard]] PostOutcome post(std::string_view body, Clock::time_point deadline);
  /// Any thread: ends a post that waits for the collector.
  void interrupt() { connection_.interrupt(); }

 private:
  [[nodiscard]] Result<client::HttpResponse> exchange(std::string_view body,
                                                      Clock::time_point deadline);

  const std::string head_;  ///< without the length of the body
  client::ServerConnection connection_;
};

}  // namespace quiver::service::tracing

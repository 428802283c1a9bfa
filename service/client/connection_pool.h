// Kept-alive connections to several servers, shared by threads that wait for answers.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "service/client/server_connection.h"

namespace quiver::client {

struct CallLimits {
  std::chrono::milliseconds connect{500};
  std::chrono::milliseconds answer{10'000};  ///< from the connection to the whole answer
};

/// Thread-safe. A server is known by host, port and TLS.
class ConnectionPool {
 public:
  explicit ConnectionPool(CallLimits limits) : limits_(limits) {}

  /// Sends a request over a connection that no other call uses, and waits for its answer. `head`
  /// is that of `ServerConnection::exchange_parts`. kUnavailable: the server was not reached, so
  /// the request is surely not done. kDeadlineExceeded: it was sent, but has no answer; whether it
  /// was done is not known.
  [[nodiscard]] Result<HttpResponse> exchange(const Endpoint& server, std::string_view head,
                                              std::string_view body);

 private:
  using Clock = std::chrono::steady_clock;
  using Connection = std::unique_ptr<ServerConnection>;
  struct Idle {
    Connection connection;
    Clock::time_point since;
  };

  [[nodiscard]] Connection take(const Endpoint& server, const std::string& key);
  void give_back(const std::string& key, Connection connection);

  const CallLimits limits_;
  Mutex mutex_;
  std::map<std::string, std::vector<Idle>> idle_ QV_GUARDED_BY(mutex_);  ///< the oldest first
};

}  // namespace quiver::client

// A client's kept-alive HTTP connection to a server, one request at a time.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "service/client/http.h"
#include "service/client/tls_session.h"

namespace quiver::client {

inline constexpr std::string_view kJsonType = "application/json";

struct HttpResponse {
  int status = 0;
  std::string body;
  std::string head;  ///< for `find_header`
};

/// Use from one thread, but for `interrupt`. Connects at the first request.
class ServerConnection {
 public:
  ServerConnection(Endpoint endpoint, std::string api_key)
      : endpoint_(std::move(endpoint)), api_key_(std::move(api_key)) {}
  ~ServerConnection() { disconnect(); }

  /// Sends a request and waits for the answer. kUnavailable if the connection broke: it is then
  /// unknown whether the server did the request. The next call reconnects.
  Result<HttpResponse> exchange(std::string_view method, std::string_view target,
                                std::string_view body, std::string_view content_type = kJsonType);
  /// Sends a whole request, as `request_text` makes it.
  Result<HttpResponse> exchange(std::string_view request);
  /// As the first, with a head of the caller's: request line and headers, with the empty line.
  Result<HttpResponse> exchange_parts(std::string_view head, std::string_view body);

  /// Connects, unless there is a connection that the server has not closed. kUnavailable: no
  /// request was sent.
  Result<> ensure_connected();
  /// Connecting, sending and receiving end then, besides the endpoint's own limits.
  void set_deadline(std::chrono::steady_clock::time_point deadline) { deadline_ = deadline; }
  /// Any thread: breaks the connection, if there is one, so that a call which waits for the server
  /// ends.
  void interrupt() QV_EXCLUDES(interrupt_mutex_);

 private:
  Result<> limit_time();
  [[nodiscard]] std::string request_head(std::string_view method, std::string_view target,
                                         std::size_t body_bytes,
                                         std::string_view content_type) const;
  Result<HttpResponse> exchange_once(std::string_view head, std::string_view body);
  Result<> connect();
  Result<> send_all(std::string_view bytes, More more);
  Result<std::size_t> receive_some(char* space);
  Result<> use(const Socket& connected);
  void disconnect();
  void set_interruptible(int fd) QV_EXCLUDES(interrupt_mutex_);
  [[nodiscard]] bool is_closed_by_server() const;
  Result<HttpResponse> receive();

  const Endpoint endpoint_;
  const std::string api_key_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::optional<Socket> socket_;
  std::unique_ptr<TlsSession> tls_;  ///< over `socket_`; null: plain TCP
  ResponseReader reader_;
  Mutex interrupt_mutex_;
  int interruptible_fd_ QV_GUARDED_BY(interrupt_mutex_) = -1;  ///< of the open connection; -1: none
};

/// Sends one request over a new connection.
[[nodiscard]] Result<HttpResponse> fetch(const Endpoint& endpoint, const std::string& request);

/// Status and error message of an answer: `status.error` of its JSON, else the whole body.
[[nodiscard]] std::string error_text(const HttpResponse& answer);

}  // namespace quiver::client

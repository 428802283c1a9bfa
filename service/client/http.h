// The part of HTTP/1.1 that clients of our server need, with little work per request.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace quiver::client {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  bool is_tls = false;
  std::string ca_file = {};  ///< for TLS: PEM file of authorities; empty: the system's
  /// Limit of connecting to an address, of each send and of each receive; at least 1 ms.
  std::chrono::milliseconds timeout = std::chrono::minutes(1);
  /// A connection breaks when the machine at its other end says nothing for this time, whether or
  /// not it owes an answer; 0: after the system's time, hours.
  std::chrono::seconds silence{0};
};

/// Parses "http://HOST[:PORT][/]", or "https://…".
[[nodiscard]] Result<Endpoint> parse_url(std::string_view url, std::uint16_t default_port = 6333);

/// Owns a file descriptor and closes it.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

/// Opens a blocking TCP connection with TCP_NODELAY and the endpoint's timeout. Looking up a name
/// has the system's own limit.
[[nodiscard]] Result<Socket> connect_to(const Endpoint& endpoint);
/// Limits each send and receive of a connected socket, as `Endpoint::timeout` does.
void set_timeout(const Socket& socket, std::chrono::milliseconds timeout);
/// Why a call of a socket failed, from its `errno`.
[[nodiscard]] std::string socket_error_text(int error);

/// A whole request, head and body. `target` must be escaped already.
[[nodiscard]] std::string request_text(std::string_view method, std::string_view target,
                                       const Endpoint& endpoint, std::string_view api_key,
                                       std::string_view body);
/// Percent-encodes `text` as one segment of a path.
[[nodiscard]] std::string escape_segment(std::string_view text);

/// Borrowed from the reader until its next call.
struct ResponseView {
  int status = 0;
  std::string_view body;
  std::string_view head;  ///< status line and headers, each with its line end
};

/// The value of a header, without the spaces before it; nullopt if the head has none. `name` is in
/// any case.
[[nodiscard]] std::optional<std::string_view> find_header(std::string_view head,
                                                          std::string_view name);

/// True if the server closes the connection after this answer.
[[nodiscard]] bool closes_connection(std::string_view head);

/// Splits a byte stream into responses. Each must have a Content-Length or be sent in chunks.
class ResponseReader {
 public:
  /// Returns space for `n` bytes; `commit` says how many were received.
  [[nodiscard]] char* reserve(std::size_t n);
  void commit(std::size_t n) { end_ += n; }
  /// Returns the next response once it is complete; kInvalidArgument if the bytes are no response.
  [[nodiscard]] Result<std::optional<ResponseView>> next();

 private:
  Result<bool> take_chunks(std::string_view bytes);

  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string chunks_;         ///< chunks of the next response, one after another
  std::size_t n_decoded_ = 0;  ///< bytes behind its head that are in `chunks_`
  bool is_in_trailers_ = false;
};

}  // namespace quiver::client

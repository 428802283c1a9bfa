// As much of HTTP/1.1 as clients of one server need: little work per request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace quiver::app {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

/// "http://HOST[:PORT][/]"; the port is 6333 by default.
[[nodiscard]] Result<Endpoint> parse_url(std::string_view url);

/// An open file descriptor, closed at the end.
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

/// A blocking TCP connection without Nagle's delay.
[[nodiscard]] Result<Socket> connect_to(const Endpoint& endpoint);

/// A whole request, head and body. `target` is escaped already.
[[nodiscard]] std::string request_text(std::string_view method, std::string_view target,
                                       const Endpoint& endpoint, std::string_view api_key,
                                       std::string_view body);
/// `text` for use as one segment of a path.
[[nodiscard]] std::string escape_segment(std::string_view text);

struct Response {
  int status = 0;
  std::string_view body;  ///< of the reader, until its next call
};

/// Cuts a byte stream into responses. They must carry a Content-Length.
class ResponseReader {
 public:
  /// Space to receive into, and what came.
  [[nodiscard]] char* reserve(std::size_t n);
  void commit(std::size_t n) { end_ += n; }
  /// The next response if it is complete; kInvalidArgument if the bytes are none.
  [[nodiscard]] Result<std::optional<Response>> next();

 private:
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace quiver::app

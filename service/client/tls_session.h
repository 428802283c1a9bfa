// TLS over a connected socket, on the side of the client. Blocking.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "service/client/http.h"

namespace quiver::client {

/// Whether more bytes of the same request follow at once.
enum class More : std::uint8_t { kNo, kYes };

/// Used on one thread. The socket outlives it.
class TlsSession {
 public:
  /// Shakes hands. kUnavailable if the server's certificate is not signed by `endpoint.ca_file`
  /// (the system's authorities, if that is empty) or is for another host, or if the server speaks
  /// no TLS.
  [[nodiscard]] static Result<std::unique_ptr<TlsSession>> connect(const Socket& socket,
                                                                   const Endpoint& endpoint);
  virtual ~TlsSession() = default;

  [[nodiscard]] virtual Result<> send(std::string_view bytes, More more) = 0;
  /// The number of bytes read; 0 at the end.
  [[nodiscard]] virtual Result<std::size_t> receive(char* space, std::size_t n) = 0;
};

}  // namespace quiver::client

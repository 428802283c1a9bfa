// TLS for connections. OpenSSL stays in tls.cc.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "service/access/tls_options.h"
#include "service/net/stream.h"

namespace quiver::service {

/// What is spoken over an encrypted connection (ALPN).
enum class Protocol : std::uint8_t { kHttp1, kHttp2 };

/// The certificates in use. Used on one thread.
class TlsContext {
 public:
  /// kInvalidArgument, naming the key and the file, if one cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<TlsContext>> load(TlsOptions options,
                                                                Protocol protocol);
  virtual ~TlsContext() = default;

  /// The stream of an accepted connection. Its first read does the handshake. Loads files that have
  /// changed, if it is time to look; files that cannot be used are logged, and the former kept.
  [[nodiscard]] virtual std::unique_ptr<Stream> make_stream(
      boost::asio::ip::tcp::socket socket) = 0;
};

}  // namespace quiver::service

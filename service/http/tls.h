// TLS for connections. OpenSSL stays in tls.cc.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "base/result.h"
#include "service/access/tls_options.h"
#include "service/http/stream.h"

namespace quiver::service {

/// The certificates in use. Used on one thread.
class TlsContext {
 public:
  /// kInvalidArgument, naming the key and the file, if one cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<TlsContext>> load(TlsOptions options);
  virtual ~TlsContext() = default;

  /// The stream of an accepted connection. Its first read does the handshake. Loads files that have
  /// changed, if it is time to look; files that cannot be used are logged, and the former kept.
  [[nodiscard]] virtual std::unique_ptr<Stream> make_stream(
      boost::asio::ip::tcp::socket socket) = 0;
};

}  // namespace quiver::service

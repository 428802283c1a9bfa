// The address that clients connect to.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "service/net/stream.h"
#include "service/net/tls.h"

namespace quiver::service {

/// Used on the thread of its event loop, except before that runs.
class Listener {
 public:
  struct Accepted {
    std::unique_ptr<Stream> stream;  ///< null: see `error`
    boost::system::error_code error;
  };

  /// `context` outlives this.
  explicit Listener(boost::asio::io_context& context) : acceptor_(context) {}

  /// `host` is an address or a name; port 0 is any free one. kUnavailable if it cannot be bound.
  [[nodiscard]] Result<> listen(std::string host, std::uint16_t port);
  /// Streams are encrypted from now on.
  void use(std::unique_ptr<TlsContext> tls) { tls_ = std::move(tls); }
  /// The port that it listens on.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] bool is_open() const { return acceptor_.is_open(); }
  /// Waits for a client, whose stream belongs to `loop` from then on.
  [[nodiscard]] boost::asio::awaitable<Accepted> accept(boost::asio::io_context& loop);
  /// Ends a wait for clients.
  void close();

 private:
  boost::asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_ = 0;
  std::unique_ptr<TlsContext> tls_;  ///< null: plain TCP
};

}  // namespace quiver::service

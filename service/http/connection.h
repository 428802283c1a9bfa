// One client: reads requests one after another, has them answered, writes the answers in order.
//
// Everything here runs on the thread of its event loop. While an exchange is deferred it belongs
// to whoever will finish it, and the connection touches nothing but its own phase.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "service/http/exchange.h"
#include "service/http/request_parser.h"

namespace quiver::service {

class Connection;

/// An event loop and what lives on it. `connections` and `stopping` belong to its thread.
struct EventLoop {
  boost::asio::io_context context{1};
  std::unordered_set<Connection*> connections;
  bool stopping = false;
};

class Connection final : public Exchange {
 public:
  Connection(EventLoop& loop, boost::asio::ip::tcp::socket socket, Service& service);

  /// Serves until the client leaves, an error, a timeout or a stop.
  static boost::asio::awaitable<void> serve(std::shared_ptr<Connection> self);

  /// A second has passed: closes what has been silent for too long.
  void tick();
  /// No request after the one that is being answered, if there is one. One that has not arrived
  /// whole is refused.
  void stop();
  /// Now: what is computing is cancelled, the socket is closed.
  void abort();

 private:
  enum class Phase : std::uint8_t { kIdle, kReading, kHandling, kWriting, kClosing };
  enum class Parsed : std::uint8_t { kRequest, kMore, kRefused };

  void post_resume(Task resume) override;

  void begin_request();
  /// Feeds the parser with what has been read.
  [[nodiscard]] Parsed parse();
  [[nodiscard]] Parsed refuse(boost::system::error_code ec);
  [[nodiscard]] Parsed refuse(const ApiError& reason);
  [[nodiscard]] boost::asio::mutable_buffer free_space();
  /// False if the connection is over.
  [[nodiscard]] bool received(std::size_t n, boost::system::error_code ec);
  void send_continue();
  void handle();
  [[nodiscard]] std::size_t write_now(boost::system::error_code& ec);
  boost::asio::awaitable<void> suspend();
  boost::asio::awaitable<bool> write_rest(std::size_t n_sent);
  boost::asio::awaitable<void> serve_requests();
  boost::asio::awaitable<void> linger();
  [[nodiscard]] bool client_is_gone();
  [[nodiscard]] double silence_limit_s() const;

  EventLoop& loop_;
  boost::asio::ip::tcp::socket socket_;
  std::optional<RequestParser> parser_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< of the unread bytes in `buffer_`
  std::string head_;
  Phase phase_ = Phase::kIdle;
  unsigned silent_s_ = 0;  ///< ticks in this phase; while reading a body, since the last bytes
  bool refused_ = false;   ///< the client may still be sending what nobody will read
};

}  // namespace quiver::service

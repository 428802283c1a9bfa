// The two-way flow of bytes to one client: plain TCP, or TLS (tls.h).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace quiver::service {

/// Used on the thread of its event loop. `ec` of a call that waits outlives the wait.
class Stream {
 public:
  using ErrorCode = boost::system::error_code;

  virtual ~Stream() = default;

  /// Reads what has arrived, without waiting; `ec` is `would_block` if nothing has.
  [[nodiscard]] virtual std::size_t read_now(boost::asio::mutable_buffer space, ErrorCode& ec) = 0;
  /// Writes as much as possible without waiting, maybe nothing. `ec` is empty unless writing fails.
  [[nodiscard]] virtual std::size_t write_now(std::span<const boost::asio::const_buffer> buffers,
                                              ErrorCode& ec) = 0;
  /// Waits until it has read or written something.
  [[nodiscard]] virtual boost::asio::awaitable<std::size_t> read_some(
      boost::asio::mutable_buffer space, ErrorCode& ec) = 0;
  [[nodiscard]] virtual boost::asio::awaitable<std::size_t> write_some(
      boost::asio::const_buffer bytes, ErrorCode& ec) = 0;

  /// True once the client has closed its side and everything before that is read. A half-closed
  /// connection looks the same: a client that waits for an answer keeps both directions open.
  [[nodiscard]] virtual bool is_closed_by_client() = 0;
  /// Nothing more is written.
  virtual void shutdown_send(ErrorCode& ec) = 0;
  /// Pending operations end with `operation_aborted`.
  virtual void cancel() = 0;
  virtual void close() = 0;

  /// The address of the client, without its port; "" if it has left.
  [[nodiscard]] virtual std::string remote_address() const = 0;
  /// False until the client and the server have agreed on how to speak, in the first read.
  [[nodiscard]] virtual bool is_established() const { return true; }
};

/// For `Stream::remote_address`.
[[nodiscard]] std::string remote_address_of(const boost::asio::ip::tcp::socket& socket);
/// A stream over plain TCP.
[[nodiscard]] std::unique_ptr<Stream> make_stream(boost::asio::ip::tcp::socket socket);

}  // namespace quiver::service

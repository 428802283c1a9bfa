#include "service/net/stream.h"

#include <sys/socket.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace quiver::service {
namespace {

using boost::asio::awaitable;
using boost::asio::const_buffer;
using boost::asio::mutable_buffer;
using boost::asio::redirect_error;
using boost::asio::use_awaitable;
using boost::asio::ip::tcp;

class TcpStream final : public Stream {
 public:
  explicit TcpStream(tcp::socket socket) : socket_(std::move(socket)) {
    ErrorCode ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored);
  }

  std::size_t read_now(mutable_buffer space, ErrorCode& ec) override {
    return socket_.read_some(boost::asio::mutable_buffers_1(space), ec);
  }
  std::size_t write_now(std::span<const const_buffer> buffers, ErrorCode& ec) override {
    const std::size_t n = socket_.write_some(buffers, ec);
    if (ec == boost::asio::error::would_block) ec = ErrorCode();
    return n;
  }
  awaitable<std::size_t> read_some(mutable_buffer space, ErrorCode& ec) override {
    return socket_.async_read_some(boost::asio::mutable_buffers_1(space),
                                   redirect_error(use_awaitable, ec));
  }
  awaitable<std::size_t> write_some(const_buffer bytes, ErrorCode& ec) override {
    return socket_.async_write_some(boost::asio::const_buffers_1(bytes),
                                    redirect_error(use_awaitable, ec));
  }

  bool is_closed_by_client() override {
    char byte = 0;
    return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }
  void shutdown_send(ErrorCode& ec) override { socket_.shutdown(tcp::socket::shutdown_send, ec); }
  void cancel() override {
    ErrorCode ignored;
    socket_.cancel(ignored);
  }
  void close() override {
    ErrorCode ignored;
    socket_.close(ignored);
  }
  [[nodiscard]] std::string remote_address() const override { return remote_address_of(socket_); }

 private:
  tcp::socket socket_;
};

}  // namespace

std::string remote_address_of(const tcp::socket& socket) {
  Stream::ErrorCode ec;
  const auto endpoint = socket.remote_endpoint(ec);
  return ec ? std::string() : endpoint.address().to_string();
}

std::unique_ptr<Stream> make_stream(tcp::socket socket) {
  return std::make_unique<TcpStream>(std::move(socket));
}

}  // namespace quiver::service

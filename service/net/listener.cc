#include "service/net/listener.h"

#include <fmt/format.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace quiver::service {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

Error bind_error(const std::string& host, std::uint16_t port, const error_code& ec) {
  return Error(Code::kUnavailable,
               fmt::format("cannot listen on {}:{}: {}", host, port, ec.message()));
}

Result<tcp::endpoint> resolve(const asio::any_io_executor& executor, const std::string& host,
                              std::uint16_t port) {
  error_code ec;
  const auto address = asio::ip::make_address(host, ec);
  if (!ec) return tcp::endpoint(address, port);
  tcp::resolver resolver(executor);
  const auto results = resolver.resolve(host, std::to_string(port), ec);
  if (ec || results.empty()) return fail(bind_error(host, port, ec));
  return results.begin()->endpoint();
}

}  // namespace

Result<> Listener::listen(std::string host, std::uint16_t port) {
  QV_TRY(const auto endpoint, resolve(acceptor_.get_executor(), host, port));
  error_code ec;
  acceptor_.open(endpoint.protocol(), ec);
  if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor_.bind(endpoint, ec);
  if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (!ec) port_ = acceptor_.local_endpoint(ec).port();
  if (ec) return fail(bind_error(host, port, ec));
  return {};
}

asio::awaitable<Listener::Accepted> Listener::accept(asio::io_context& loop) {
  Accepted accepted;
  tcp::socket socket = co_await acceptor_.async_accept(
      loop, asio::redirect_error(asio::use_awaitable, accepted.error));
  if (accepted.error) co_return accepted;
  accepted.stream = tls_ ? tls_->make_stream(std::move(socket)) : make_stream(std::move(socket));
  if (!accepted.stream) accepted.error = asio::error::no_memory;
  co_return accepted;
}

void Listener::close() {
  error_code ignored;
  acceptor_.close(ignored);
}

}  // namespace quiver::service

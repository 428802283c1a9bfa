#include "service/http/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <cstring>
#include <utility>

#include "service/http/service.h"

namespace quiver::service {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kBufferBytes = 16 << 10;
/// For bodies that do not fit a small buffer: fewer system calls.
constexpr std::size_t kLargeBufferBytes = 256 << 10;
/// How long a client that was refused may go on sending.
constexpr double kLingerSeconds = 2;

/// `declared_bytes`: 0 if the request does not say.
ApiError too_large(std::uint64_t declared_bytes, std::size_t max_bytes) {
  const std::string found =
      declared_bytes == 0 ? "" : fmt::format(", the content-length is {}", declared_bytes);
  return {413, fmt::format("Payload too large: a body may have {} bytes{}; "
                           "`service.max_request_size_mb` sets the limit",
                           max_bytes, found)};
}

}  // namespace

Connection::Connection(EventLoop& loop, tcp::socket socket, Service& service)
    : Exchange(service), loop_(loop), socket_(std::move(socket)) {
  buffer_.resize(kBufferBytes + service.options().max_header_bytes);
}

void Connection::post_resume(Task resume) { asio::post(loop_.context, std::move(resume)); }

asio::awaitable<void> Connection::serve(std::shared_ptr<Connection> self) {
  self->loop_.connections.insert(self.get());
  error_code ignored;
  self->socket_.set_option(tcp::no_delay(true), ignored);
  self->socket_.non_blocking(true, ignored);
  if (!self->loop_.stopping) {
    co_await self->serve_requests();
    co_await self->linger();
  }
  self->loop_.connections.erase(self.get());
}

asio::awaitable<void> Connection::serve_requests() {
  for (;;) {
    begin_request();
    Parsed parsed = parse();
    while (parsed == Parsed::kMore) {
      error_code ec;
      std::size_t n = 0;
      if (loop_.stopping) {  // what has arrived is still answered, more is not waited for
        n = socket_.read_some(free_space(), ec);
      } else {
        n = co_await socket_.async_read_some(free_space(),
                                             asio::redirect_error(asio::use_awaitable, ec));
        if (ec == asio::error::operation_aborted && loop_.stopping) continue;
      }
      if (ec == asio::error::would_block && phase_ == Phase::kReading) {
        parsed = refuse(Error(Code::kUnavailable, "the server is closing"));
        break;
      }
      if (!received(n, ec)) co_return;
      parsed = parse();
    }
    if (parsed == Parsed::kRequest) {
      handle();
      if (deferred()) co_await suspend();
      if (route != nullptr) route->count(response.status, seconds());
    }
    error_code ec;
    const std::size_t n_sent = write_now(ec);
    if (ec) co_return;
    if (n_sent < head_.size() + response.body.size()) {
      const bool written = co_await write_rest(n_sent);
      if (!written) co_return;
    }
    if (!request.keep_alive) co_return;
  }
}

void Connection::begin_request() {
  request.clear();
  response.clear();
  route = nullptr;
  reset_state();
  parser_.emplace(request, service().options().max_header_bytes,
                  service().options().max_body_bytes);
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (buffer_.size() > kLargeBufferBytes / 2) {
      buffer_.resize(kBufferBytes + service().options().max_header_bytes);
      buffer_.shrink_to_fit();
    }
  }
  phase_ = Phase::kIdle;
  silent_s_ = 0;
}

Connection::Parsed Connection::parse() {
  while (begin_ < end_) {
    phase_ = Phase::kReading;
    error_code ec;
    begin_ += parser_->put(asio::const_buffer(buffer_.data() + begin_, end_ - begin_), ec);
    const auto held = hold_body(request.body.capacity());
    if (!held) return refuse(held.error());
    if (ec && ec != http::error::need_more) return refuse(ec);  // also when it is done
    if (parser_->is_done()) return Parsed::kRequest;
    if (ec) break;
  }
  if (request.expects_continue && parser_->is_header_done()) send_continue();
  return Parsed::kMore;
}

Connection::Parsed Connection::refuse(error_code ec) {
  if (ec == http::error::body_limit) {
    return refuse(too_large(parser_->declared_length(), service().options().max_body_bytes));
  }
  if (ec == http::error::header_limit) {
    return refuse(ApiError(431, fmt::format("Bad request: a request line and its headers may have "
                                            "{} bytes",
                                            service().options().max_header_bytes)));
  }
  return refuse(ApiError(400, fmt::format("Bad request: malformed HTTP: {}", ec.message())));
}

Connection::Parsed Connection::refuse(const ApiError& reason) {
  begin();
  error(reason);
  request.keep_alive = false;
  refused_ = true;
  return Parsed::kRefused;
}

asio::mutable_buffer Connection::free_space() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < kLargeBufferBytes && parser_->expects_more_than(buffer_.size())) {
    buffer_.resize(kLargeBufferBytes);
  }
  return asio::mutable_buffer(buffer_.data() + end_, buffer_.size() - end_);
}

bool Connection::received(std::size_t n, error_code ec) {
  if (ec || n == 0) return false;
  end_ += n;
  // Headers must arrive within one limit; a body may take as long as it keeps arriving.
  if (parser_->is_header_done()) silent_s_ = 0;
  return true;
}

void Connection::send_continue() {
  request.expects_continue = false;
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  error_code ignored;
  socket_.write_some(asio::const_buffer(kContinue.data(), kContinue.size()), ignored);
}

void Connection::handle() {
  phase_ = Phase::kHandling;
  begin();
  service().handle(*this);
}

std::size_t Connection::write_now(error_code& ec) {
  phase_ = Phase::kWriting;
  silent_s_ = 0;
  release_body();  // before the client can know that the answer is there
  if (loop_.stopping) request.keep_alive = false;
  head_.clear();
  append_head(head_, request, response, service().options().cors);
  if (request.method == Method::kHead) response.body.clear();
  const std::array<asio::const_buffer, 2> buffers = {asio::buffer(head_),
                                                     asio::buffer(response.body)};
  const std::size_t n = socket_.write_some(buffers, ec);
  if (ec == asio::error::would_block) ec = error_code();
  return n;
}

asio::awaitable<bool> Connection::write_rest(std::size_t n_sent) {
  const std::size_t in_head = std::min(n_sent, head_.size());
  const std::array<asio::const_buffer, 2> buffers = {
      asio::buffer(head_) + in_head, asio::buffer(response.body) + (n_sent - in_head)};
  error_code ec;
  std::size_t left = asio::buffer_size(buffers[0]) + asio::buffer_size(buffers[1]);
  asio::const_buffer head = buffers[0];
  asio::const_buffer body = buffers[1];
  while (left > 0 && !ec) {
    const asio::const_buffer next = head.size() > 0 ? head : body;
    const std::size_t n = co_await socket_.async_write_some(
        asio::const_buffers_1(next), asio::redirect_error(asio::use_awaitable, ec));
    silent_s_ = 0;
    (head.size() > 0 ? head : body) += n;
    left -= n;
  }
  co_return !ec;
}

asio::awaitable<void> Connection::suspend() {
  auto initiate = [this](auto handler) {
    wait([handler = std::move(handler)]() mutable { std::move(handler)(); });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(initiate,
                                                                        asio::use_awaitable);
}

/// Lets a refused client read why, instead of a reset connection.
asio::awaitable<void> Connection::linger() {
  phase_ = Phase::kClosing;
  silent_s_ = 0;
  error_code ec;
  socket_.shutdown(tcp::socket::shutdown_send, ec);
  while (refused_ && !ec && !loop_.stopping) {
    const auto space = asio::mutable_buffer(buffer_.data(), buffer_.size());
    co_await socket_.async_read_some(asio::mutable_buffers_1(space),
                                     asio::redirect_error(asio::use_awaitable, ec));
  }
  socket_.close(ec);
}

double Connection::silence_limit_s() const {
  switch (phase_) {
    case Phase::kIdle:
      return service().options().keep_alive_timeout_s;
    case Phase::kClosing:
      return kLingerSeconds;
    default:
      return service().options().read_timeout_s;
  }
}

/// The end of what the client sends, with nothing before it. Half-closed connections look the same:
/// who wants an answer that takes long keeps both directions open.
bool Connection::client_is_gone() {
  char byte = 0;
  return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void Connection::tick() {
  if (phase_ == Phase::kHandling) {
    if (client_is_gone()) cancel();
    return;
  }
  if (++silent_s_ <= silence_limit_s()) return;
  error_code ignored;
  socket_.close(ignored);
}

void Connection::stop() {
  error_code ignored;
  if (phase_ != Phase::kHandling && phase_ != Phase::kWriting) socket_.cancel(ignored);
}

void Connection::abort() {
  cancel();
  error_code ignored;
  if (phase_ != Phase::kHandling) socket_.close(ignored);
}

}  // namespace quiver::service

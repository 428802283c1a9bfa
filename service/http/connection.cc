#include "service/http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>
#include <cstring>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "base/observe/request_log.h"
#include "service/http/front.h"

namespace quiver::service {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t kBufferBytes = 16 << 10;
/// For bodies that do not fit a small buffer: fewer system calls.
constexpr std::size_t kLargeBufferBytes = 256 << 10;
/// A piece of a streamed answer.
constexpr std::size_t kAnswerPieceBytes = 256 << 10;
/// How long a client that was refused may go on sending.
constexpr double kLingerSeconds = 2;
/// Time for the handshake of TLS.
constexpr double kHandshakeSeconds = 10;

constexpr std::string_view kEndOfChunk = "\r\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";

asio::const_buffer buffer_of(std::string_view text) { return {text.data(), text.size()}; }

/// `declared_bytes`: 0 if the request does not say.
ApiError too_large(std::uint64_t declared_bytes, std::size_t max_bytes) {
  const std::string found =
      declared_bytes == 0 ? "" : fmt::format(", the content-length is {}", declared_bytes);
  return {413, fmt::format("Payload too large: a body may have {} bytes{}; "
                           "`service.max_request_size_mb` sets the limit",
                           max_bytes, found)};
}

Completion::Post post_to(EventLoop& loop) {
  return [&loop](Task task) { asio::post(loop.context, std::move(task)); };
}

template <class Buffers>
void consume(Buffers& buffers, std::size_t n) {
  for (auto& buffer : buffers) {
    const std::size_t here = std::min(n, buffer.size());
    buffer += here;
    n -= here;
  }
}

}  // namespace

Connection::Connection(EventLoop& loop, std::unique_ptr<Stream> stream, Front& front)
    : loop_(loop),
      stream_(std::move(stream)),
      exchange_(front, front.runtime(), front.body_budget(), post_to(loop)) {
  buffer_.resize(kBufferBytes + options().max_header_bytes);
  if (options().compress_above_bytes > 0) {
    exchange_.compress_above_bytes = options().compress_above_bytes;
  }
  const bool names_client = logs_requests() || front.runtime().audit() != nullptr ||
                            front.runtime().options().peer_port != nullptr;
  if (names_client) exchange_.remote = stream_->remote_address();
}

const HttpOptions& Connection::options() const { return exchange_.front().options(); }

asio::awaitable<void> Connection::serve(std::shared_ptr<Connection> self) {
  const LoopMembership member(self->loop_, *self);
  if (self->loop_.stopping) co_return;
  co_await self->serve_requests();
  co_await self->linger();
}

asio::awaitable<void> Connection::turn_away(std::shared_ptr<Connection> self) {
  const LoopMembership member(self->loop_, *self);
  const auto space = asio::mutable_buffer(self->buffer_.data(), self->buffer_.size());
  const std::string answer = turned_away_text();
  error_code ec;
  if (self->loop_.stopping) ec = asio::error::operation_aborted;
  std::size_t n = 0;
  if (!ec) n = co_await self->stream_->read_some(space, ec);
  if (!ec && n > 0) n = co_await self->stream_->write_some(buffer_of(answer), ec);
  self->refused_ = !ec;
  co_await self->linger();
}

std::string Connection::turned_away_text() {
  constexpr std::string_view kBody =
      R"({"status":{"error":"Shard temporarily unavailable: too many open connections"},"time":0.0})";
  return fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
      "content-length: {}\r\nretry-after: 1\r\nconnection: close\r\n\r\n{}",
      kBody.size(), kBody);
}

asio::awaitable<void> Connection::serve_requests() {
  for (;;) {
    begin_request();
    Parsed parsed = parse();
    for (;;) {
      if (has_piece_for_sink()) parsed = co_await feed_sink(parsed);
      if (parsed != Parsed::kMore) break;
      error_code ec;
      std::size_t n = 0;
      if (loop_.stopping) {  // what has arrived is still answered, more is not waited for
        n = stream_->read_now(free_space(), ec);
      } else {
        n = co_await stream_->read_some(free_space(), ec);
        if (ec == asio::error::operation_aborted && loop_.stopping) continue;
      }
      if (ec == asio::error::would_block && phase_ == Phase::kReading) {
        parsed = refuse(Error(Code::kUnavailable, "the server is closing"));
        break;
      }
      if (!received(n, ec)) {
        note_broken_off();
        co_return;
      }
      parsed = parse();
    }
    if (parsed == Parsed::kRequest) {
      handle();
      if (!exchange_.completion.is_finished()) co_await suspend();
      if (has_source()) co_await begin_source();
      count_answer();
    }
    const Sent sent = begin_answer();
    if (sent == Sent::kFailed) co_return;
    if (sent == Sent::kPartly) {
      const bool is_sent = co_await send_rest();
      if (!is_sent) co_return;
    }
    if (!exchange_.request.keep_alive) co_return;
  }
}

void Connection::begin_request() {
  exchange_.clear();
  sink_error_.reset();
  BodyChooser* const chooser = this;
  parser_.emplace(exchange_.request, options().max_header_bytes, options().max_body_bytes, chooser);
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (buffer_.size() > kLargeBufferBytes / 2) {
      buffer_.resize(kBufferBytes + options().max_header_bytes);
      buffer_.shrink_to_fit();
    }
  }
  phase_ = Phase::kIdle;
  silent_s_ = 0;
}

void Connection::choose_body() {
  auto sink = exchange_.front().make_sink(exchange_);
  if (sink) {
    exchange_.request.sink = *std::move(sink);
  } else {
    sink_error_ = std::move(sink).error();
  }
}

Connection::Parsed Connection::parse() {
  while (begin_ < end_) {
    if (phase_ == Phase::kIdle) silent_s_ = 0;  // the time before it is not this request's
    phase_ = Phase::kReading;
    error_code ec;
    begin_ += parser_->put(asio::const_buffer(buffer_.data() + begin_, end_ - begin_), ec);
    if (sink_error_) return refuse(*sink_error_);
    const auto held = exchange_.hold_body(exchange_.request.body.capacity());
    if (!held) return refuse(held.error());
    if (ec && ec != http::error::need_more) return refuse(ec);  // also when it is done
    if (parser_->is_done()) return Parsed::kRequest;
    if (ec) break;
  }
  if (exchange_.request.expects_continue && parser_->is_header_done()) send_continue();
  return Parsed::kMore;
}

Connection::Parsed Connection::refuse(error_code ec) {
  if (ec == http::error::body_limit) {
    return refuse(too_large(parser_->declared_length(), options().max_body_bytes));
  }
  if (ec == http::error::header_limit) {
    return refuse(ApiError(431, fmt::format("Bad request: a request line and its headers may have "
                                            "{} bytes",
                                            options().max_header_bytes)));
  }
  return refuse(ApiError(400, fmt::format("Bad request: malformed HTTP: {}", ec.message())));
}

/// Keeps the caller, which is known once a sink was asked for. A refusal before that is neither
/// counted nor audited: nobody and no endpoint is known.
Connection::Parsed Connection::refuse(const ApiError& reason) {
  begin_again();
  if (reason.status == 401) {
    exchange_.text(reason.status, reason.text);
  } else {
    exchange_.error(reason);
  }
  exchange_.request.keep_alive = false;
  refused_ = true;
  if (exchange_.route != nullptr) count_answer();
  return Parsed::kRefused;
}

void Connection::begin_again() {
  const api::Principal caller = exchange_.principal();
  exchange_.begin(exchange_.request.traceparent);
  exchange_.set_principal(caller);
}

/// The client left, or fell silent, while its body went to a sink.
void Connection::note_broken_off() {
  constexpr int kClientClosedRequest = 499;
  if (exchange_.request.sink == nullptr) return;
  begin_again();
  exchange_.response.status = kClientClosedRequest;
  count_answer();
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
  exchange_.request.expects_continue = false;
  const std::array buffers = {buffer_of("HTTP/1.1 100 Continue\r\n\r\n")};
  error_code ignored;
  [[maybe_unused]] const std::size_t n = stream_->write_now(buffers, ignored);
}

bool Connection::has_piece_for_sink() const {
  const Request& request = exchange_.request;
  return request.sink != nullptr && !request.body.empty();
}

asio::awaitable<Connection::Parsed> Connection::feed_sink(Parsed parsed) {
  if (parsed == Parsed::kRefused) co_return parsed;
  Request& request = exchange_.request;
  auto write = [&request] { return request.sink->write(request.body); };
  const auto written = co_await run_blocking(std::move(write));
  request.body.clear();
  phase_ = Phase::kReading;
  silent_s_ = 0;
  if (!written) co_return refuse(ApiError(written.error()));
  co_return parsed;
}

void Connection::handle() {
  phase_ = Phase::kHandling;
  exchange_.begin(exchange_.request.traceparent);
  exchange_.set_others_wait(loop_.turn.is_late());
  exchange_.front().handle(exchange_);
}

asio::awaitable<void> Connection::suspend() {
  auto initiate = [this](auto handler) {
    exchange_.completion.wait([handler = std::move(handler)]() mutable { std::move(handler)(); });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(initiate,
                                                                        asio::use_awaitable);
}

template <class Work>
asio::awaitable<Result<>> Connection::run_blocking(Work work) {
  phase_ = Phase::kHandling;  // `tick` watches for a client that leaves
  Completion& completion = exchange_.completion;
  completion.reset();
  Result<> result;
  auto task = [&] {
    result = guarded(work);
    completion.finish();
  };
  if (!exchange_.runtime().blocking().post(Priority::kHigh, std::move(task))) {
    co_return fail(Code::kUnavailable, "the server is closing");
  }
  co_await suspend();
  completion.reset();  // for the handler, or for the next piece
  co_return result;
}

void Connection::count_answer() {
  exchange_.front().count(exchange_);
  exchange_.front().audit(exchange_);
  exchange_.front().log(exchange_);
  exchange_.front().trace(exchange_);
}

Connection::Sent Connection::begin_answer() {
  phase_ = Phase::kWriting;
  silent_s_ = 0;
  exchange_.release_body();  // before the client can know that the answer is there
  Request& request = exchange_.request;
  const Response& response = exchange_.response;
  if (loop_.stopping || framing_of(request, response) == Framing::kClose) {
    request.keep_alive = false;
  }
  head_.clear();
  append_head(head_, request, response, options().cors);
  if (has_source()) return Sent::kPartly;
  const bool has_body = request.method != Method::kHead;
  unsent_ = {buffer_of(head_), has_body ? buffer_of(response.body) : asio::const_buffer(),
             asio::const_buffer()};
  error_code ec;
  consume(unsent_, stream_->write_now(unsent_, ec));
  if (ec) return Sent::kFailed;
  return asio::buffer_size(unsent_) == 0 ? Sent::kWhole : Sent::kPartly;
}

asio::awaitable<bool> Connection::send_rest() {
  if (has_source()) co_return co_await send_source();
  co_return co_await write_unsent();
}

asio::awaitable<bool> Connection::write_unsent() {
  error_code ec;
  for (auto& buffer : unsent_) {
    while (buffer.size() > 0 && !ec) {
      const std::size_t n = co_await stream_->write_some(buffer, ec);
      silent_s_ = 0;
      buffer += n;
    }
  }
  co_return !ec;
}

/// The response to HEAD has no body, wherever it would come from.
bool Connection::has_source() const {
  return exchange_.response.source != nullptr && exchange_.request.method != Method::kHead;
}

asio::awaitable<Result<>> Connection::read_piece() {
  auto read = [this]() -> Result<> {
    QV_TRY(n_in_piece_, exchange_.response.source->read(piece_));
    return {};
  };
  const auto result = co_await run_blocking(std::move(read));
  phase_ = Phase::kWriting;
  silent_s_ = 0;
  co_return result;
}

asio::awaitable<void> Connection::begin_source() {
  piece_.resize(kAnswerPieceBytes);
  const auto result = co_await read_piece();
  if (!result) exchange_.error(ApiError(result.error()));
}

asio::awaitable<bool> Connection::send_source() {
  const bool is_sent = co_await send_pieces();
  exchange_.response.source.reset();
  piece_ = std::vector<char>();
  co_return is_sent;
}

/// The head goes out with the first piece. A body that ends otherwise than its head says ends the
/// connection.
asio::awaitable<bool> Connection::send_pieces() {
  const Framing framing = framing_of(exchange_.request, exchange_.response);
  const bool is_chunked = framing == Framing::kChunked;
  const auto size = exchange_.response.source->size();
  std::uint64_t n_sent = 0;
  while (n_in_piece_ > 0) {
    n_sent += n_in_piece_;
    if (size && n_sent > *size) break;
    if (is_chunked) head_ += fmt::format("{:x}\r\n", n_in_piece_);
    unsent_ = {buffer_of(head_), asio::const_buffer(piece_.data(), n_in_piece_),
               is_chunked ? buffer_of(kEndOfChunk) : asio::const_buffer()};
    const bool is_written = co_await write_unsent();
    if (!is_written) co_return false;
    head_.clear();
    const auto result = co_await read_piece();
    if (!result) {
      log_warning("http: {}: the answer is incomplete: {}", exchange_.describe(),
                  result.error().message());
      co_return false;
    }
    if (exchange_.is_cancelled()) co_return false;
  }
  if (size && n_sent != *size) {
    log_warning("http: {}: the answer is incomplete: its source has {} bytes in place of {}",
                exchange_.describe(), n_sent, *size);
    co_return false;
  }
  if (is_chunked) head_ += kLastChunk;
  unsent_ = {buffer_of(head_), asio::const_buffer(), asio::const_buffer()};
  co_return co_await write_unsent();
}

/// Lets a refused client read why, instead of a reset connection.
asio::awaitable<void> Connection::linger() {
  phase_ = Phase::kClosing;
  silent_s_ = 0;
  error_code ec;
  stream_->shutdown_send(ec);
  while (refused_ && !ec && !loop_.stopping) {
    const auto space = asio::mutable_buffer(buffer_.data(), buffer_.size());
    [[maybe_unused]] const std::size_t n = co_await stream_->read_some(space, ec);
  }
  stream_->close();
}

double Connection::silence_limit_s() const {
  if (!stream_->is_established()) return kHandshakeSeconds;
  switch (phase_) {
    case Phase::kIdle:
      return options().keep_alive_timeout_s;
    case Phase::kClosing:
      return kLingerSeconds;
    default:
      return options().read_timeout_s;
  }
}

void Connection::tick() {
  if (phase_ == Phase::kHandling) {
    if (stream_->is_closed_by_client()) exchange_.cancel();
    return;
  }
  if (++silent_s_ <= silence_limit_s()) return;
  stream_->close();
}

void Connection::stop() {
  if (phase_ != Phase::kHandling && phase_ != Phase::kWriting) stream_->cancel();
}

void Connection::abort() {
  exchange_.cancel();
  if (phase_ != Phase::kHandling) stream_->close();
}

}  // namespace quiver::service

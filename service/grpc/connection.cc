#include "service/grpc/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "base/observe/log.h"
#include "base/observe/request_log.h"

namespace quiver::service::rpc {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kBufferBytes = 16 << 10;
/// For long messages: fewer system calls.
constexpr std::size_t kLargeBufferBytes = 256 << 10;
/// Frames gathered for one write.
constexpr std::size_t kWriteBytes = 256 << 10;
/// Calls of one connection, with those whose client does not wait any longer.
constexpr std::size_t kMaxCalls = 2000;
/// Time for the handshake of TLS and the first frames.
constexpr unsigned kHandshakeSeconds = 10;
/// Time for a sign of life.
constexpr unsigned kPingSeconds = 20;
/// Time for a client to read its last answers.
constexpr unsigned kLingerSeconds = 2;

constexpr std::string_view kNotGrpc =
    "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 58\r\n"
    "connection: close\r\n\r\n"
    "Bad request: this port takes gRPC (HTTP/2), not HTTP/1.1.\n";

bool is_grpc(std::string_view content_type) {
  constexpr std::string_view kType = "application/grpc";
  if (!content_type.starts_with(kType)) return false;
  content_type.remove_prefix(kType.size());
  return content_type.empty() || content_type.front() == '+' || content_type.front() == ';';
}

http2::Limits limits_of(const GrpcLimits& limits) {
  http2::Limits out;
  out.max_header_bytes = limits.max_header_bytes;
  return out;
}

Status unimplemented(std::string text) {
  return {static_cast<int>(Code::kUnimplemented), std::move(text)};
}

}  // namespace

GrpcConnection::GrpcConnection(EventLoop& loop, std::unique_ptr<Stream> stream, GrpcFront& front)
    : loop_(loop),
      stream_(std::move(stream)),
      front_(front),
      remote_(logs_requests() || front.runtime().audit() != nullptr ? stream_->remote_address()
                                                                    : ""),
      session_(http2::Session::make(*this, limits_of(front.limits()))),
      memory_(front.messages()),
      buffer_(kBufferBytes) {}

asio::awaitable<void> GrpcConnection::serve(std::shared_ptr<GrpcConnection> self) {
  const LoopMembership member(self->loop_, *self);
  if (!self->loop_.stopping) co_await self->read_frames();
  self->leave();
  co_await self->wait_for_calls();
}

asio::awaitable<void> GrpcConnection::read_frames() {
  for (;;) {
    ErrorCode ec;
    const asio::mutable_buffer space(buffer_.data(), buffer_.size());
    const std::size_t n = co_await stream_->read_some(space, ec);
    if (ec || n == 0 || is_over_) co_return;
    if (!take(std::string_view(buffer_.data(), n))) co_return;
    fit_buffer(n);
  }
}

bool GrpcConnection::take(std::string_view bytes) {
  silent_s_ = 0;
  if (is_lingering_) return true;
  is_taking_ = true;
  const auto taken = session_->take(bytes);
  is_taking_ = false;
  if (!taken && !session_->has_begun()) {
    const std::array answer = {asio::const_buffer(kNotGrpc.data(), kNotGrpc.size())};
    ErrorCode ignored;
    [[maybe_unused]] const std::size_t n = stream_->write_now(answer, ignored);
    stream_->shutdown_send(ignored);
    return false;
  }
  flush();
  return taken && !is_over_;
}

void GrpcConnection::fit_buffer(std::size_t n_read) {
  if (n_read == buffer_.size() && buffer_.size() < kLargeBufferBytes) {
    buffer_.resize(kLargeBufferBytes);
  } else if (buffer_.size() == kLargeBufferBytes && n_body_bytes_ == 0) {
    buffer_.resize(kBufferBytes);
    buffer_.shrink_to_fit();
  }
}

void GrpcConnection::header(StreamId id, std::string_view name, std::string_view value) {
  auto found = incoming_.find(id);
  if (found == incoming_.end()) {
    if (incoming_.size() >= kMaxCalls) return;
    found = incoming_.try_emplace(id, front_.limits().max_message_bytes).first;
  }
  found->second.head.set(name, value);
}

void GrpcConnection::headers_end(StreamId id) {
  const auto found = incoming_.find(id);
  if (found == incoming_.end()) return session_->refuse(id);
  begin_call(id, found->second);
}

void GrpcConnection::begin_call(StreamId id, Incoming& incoming) {
  RequestHead& head = incoming.head;
  if (head.http_method != "POST") return session_->answer_headers(id, {{":status", "405"}});
  if (!is_grpc(head.content_type)) return session_->answer_headers(id, {{":status", "415"}});
  if (const auto* route = front_.find(head.path)) {
    incoming.call =
        std::make_unique<UnaryCall>(*this, id, front_, *route, std::move(head), remote_);
    return;
  }
  if (!front_.is_reflection(head.path)) {
    return refuse(id, unimplemented(fmt::format("there is no method `{}`", head.path)));
  }
  auto caller = api::authenticate(front_.runtime(), credentials_of(head));
  if (!caller) {
    return refuse(id, {static_cast<int>(caller.error().code()), caller.error().message()});
  }
  incoming.call = std::make_unique<ReflectionCall>(*this, id);
}

void GrpcConnection::body(StreamId id, std::string_view bytes) {
  const auto found = incoming_.find(id);
  if (found == incoming_.end() || !found->second.call) return;
  const auto taken = take_body(found->second, bytes);
  if (!taken) refuse(id, status_of(taken.error()));
}

Decoded<> GrpcConnection::take_body(Incoming& incoming, std::string_view bytes) {
  QV_TRY(hold(incoming, bytes.size()));
  while (!bytes.empty()) {
    QV_TRY(incoming.reader.take(bytes));
    if (incoming.reader.has_message()) incoming.call->take(incoming.reader.release());
  }
  return {};
}

Result<> GrpcConnection::hold(Incoming& incoming, std::size_t n_bytes) {
  QV_TRY(memory_.hold(n_body_bytes_ + n_bytes));
  n_body_bytes_ += n_bytes;
  incoming.n_body_bytes += n_bytes;
  return {};
}

void GrpcConnection::request_end(StreamId id) {
  const auto found = incoming_.find(id);
  if (found == incoming_.end() || !found->second.call) return;
  if (found->second.reader.is_within()) {
    return refuse(id, status_of(ApiError(400, "Bad request: the message ends early")));
  }
  found->second.call->request_end();
}

void GrpcConnection::closed(StreamId id) {
  const auto found = incoming_.find(id);
  if (found == incoming_.end()) return;
  IncomingCall* call = found->second.call.get();
  if (call != nullptr && call->is_running()) return call->abandon();
  forget(id);
}

void GrpcConnection::forget(StreamId id) {
  const auto found = incoming_.find(id);
  n_body_bytes_ -= found->second.n_body_bytes;
  // Holding less cannot fail.
  [[maybe_unused]] const auto held = memory_.hold(n_body_bytes_);
  incoming_.erase(found);
}

void GrpcConnection::refuse(StreamId id, const Status& status) {
  if (const auto found = incoming_.find(id); found != incoming_.end()) found->second.call.reset();
  session_->answer_headers(id, only_trailers(status));
}

void GrpcConnection::started(UnaryCall& call) {
  ++n_running_;
  call.set_others_wait(loop_.turn.is_late());
}

void GrpcConnection::finished(UnaryCall& call) noexcept {
  const bool is_here = loop_.context.get_executor().running_in_this_thread();
  // An abandoned call is forgotten when delivered, so it must not be in use.
  if (is_here && !call.is_abandoned()) {
    deliver(call);
    if (!is_taking_) flush();
    return wake();
  }
  MutexLock lock(mutex_);
  call.next = std::exchange(finished_, &call);
  if (is_delivery_posted_) return;
  try {
    asio::post(loop_.context, [this] { deliver_finished(); });
    is_delivery_posted_ = true;
  } catch (...) {
    // No memory; `tick` delivers.
  }
}

void GrpcConnection::deliver_finished() {
  UnaryCall* call = nullptr;
  {
    MutexLock lock(mutex_);
    call = std::exchange(finished_, nullptr);
    is_delivery_posted_ = false;
  }
  while (call != nullptr) deliver(*std::exchange(call, call->next));
  flush();
  wake();
}

/// Sends the answer, unless nobody waits for it.
void GrpcConnection::deliver(UnaryCall& call) noexcept {
  --n_running_;
  call.set_delivered();
  has_last_answers_ = has_last_answers_ || loop_.stopping;
  if (call.is_abandoned()) return forget(call.id());
  try {
    send_reply(call);
  } catch (...) {
    leave();  // no memory for the answer
  }
}

void GrpcConnection::send_reply(UnaryCall& call) {
  auto& reply = call.reply();
  if (reply.frame.empty()) {
    return session_->answer_headers(call.id(), only_trailers(reply.status, call.retry_after_s()));
  }
  session_->begin_answer(call.id(), answer_head(reply.is_compressed));
  session_->send(call.id(), std::move(reply.frame));
  session_->end_answer(call.id(), trailers_of({}));
}

void GrpcConnection::send(StreamId id, std::string frame) {
  session_->begin_answer(id, answer_head(false));
  session_->send(id, std::move(frame));
}

void GrpcConnection::end(StreamId id, const Status& status) {
  session_->begin_answer(id, answer_head(false));
  session_->end_answer(id, trailers_of(status));
}

bool GrpcConnection::has_unsent() {
  if (n_sent_ < unsent_.size()) return true;
  n_sent_ = 0;
  unsent_.clear();
  if (unsent_.capacity() > 2 * kWriteBytes) unsent_.shrink_to_fit();
  session_->gather(unsent_, kWriteBytes);
  return !unsent_.empty();
}

void GrpcConnection::flush() noexcept {
  if (is_writing_ || is_over_ || is_lingering_) return;
  try {
    flush_or_throw();
  } catch (...) {
    leave();  // no memory for frames
  }
}

void GrpcConnection::flush_or_throw() {
  while (has_unsent()) {
    const std::array bytes = {
        asio::const_buffer(unsent_.data() + n_sent_, unsent_.size() - n_sent_)};
    ErrorCode ec;
    const std::size_t n = stream_->write_now(bytes, ec);
    if (ec) return leave();
    n_sent_ += n;
    stalled_s_ = 0;
    if (n < bytes.front().size()) {
      is_writing_ = true;
      asio::co_spawn(loop_.context, write_rest(shared_from_this()), asio::detached);
      return;
    }
  }
  close_if_done();
}

asio::awaitable<void> GrpcConnection::write_rest(
    [[maybe_unused]] std::shared_ptr<GrpcConnection> self) {
  ErrorCode ec;
  while (!ec && !is_over_ && has_unsent()) {
    const asio::const_buffer bytes(unsent_.data() + n_sent_, unsent_.size() - n_sent_);
    const std::size_t n = co_await stream_->write_some(bytes, ec);
    n_sent_ += n;
    stalled_s_ = 0;
  }
  is_writing_ = false;
  if (ec) leave();
  close_if_done();
  wake();
}

/// Nobody waits for the answers any more.
void GrpcConnection::leave() noexcept {
  if (is_over_) return;
  is_over_ = true;
  for (auto& [id, incoming] : incoming_) {
    if (incoming.call && incoming.call->is_running()) incoming.call->abandon();
  }
  stream_->close();
}

void GrpcConnection::close_if_done() {
  if (!loop_.stopping || n_running_ > 0 || is_writing_) return;
  if (is_aborting_) return leave();
  if (incoming_.empty()) has_last_answers_ ? linger() : leave();
}

/// A connection that is closed with bytes of the client unread is reset, and what the client has
/// not received yet is lost. So it closes first, or its time is over.
void GrpcConnection::linger() {
  if (is_lingering_ || is_over_) return;
  is_lingering_ = true;
  silent_s_ = 0;
  ErrorCode ec;
  stream_->shutdown_send(ec);
  if (ec) leave();
}

asio::awaitable<void> GrpcConnection::wait_for_calls() {
  asio::steady_timer timer(loop_.context);
  waiter_ = &timer;
  while (n_running_ > 0 || is_writing_) {
    timer.expires_at(asio::steady_timer::time_point::max());
    ErrorCode ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  waiter_ = nullptr;
}

void GrpcConnection::wake() {
  if (waiter_ != nullptr) waiter_->cancel();
}

void GrpcConnection::tick() {
  bool is_forgotten = false;
  {
    MutexLock lock(mutex_);
    is_forgotten = finished_ != nullptr && !is_delivery_posted_;
  }
  if (is_forgotten) deliver_finished();
  if (is_over_) return;
  ++silent_s_;
  if (is_lingering_ && ++lingered_s_ > kLingerSeconds) return leave();
  if (is_stalled()) return leave();
  if (!session_->has_begun()) return;
  if (silent_s_ == static_cast<unsigned>(front_.limits().keep_alive_timeout_s)) session_->ping();
  flush();
}

bool GrpcConnection::is_stalled() {
  const GrpcLimits& limits = front_.limits();
  if (!session_->has_begun()) return silent_s_ > kHandshakeSeconds;
  const bool should_send = is_writing_ || session_->has_unsent_answers();
  stalled_s_ = should_send ? stalled_s_ + 1 : 0;
  const bool is_receiving = n_body_bytes_ > 0 && n_running_ == 0 && !should_send;
  return stalled_s_ > limits.read_timeout_s ||
         (is_receiving && silent_s_ > limits.read_timeout_s) ||
         silent_s_ > limits.keep_alive_timeout_s + kPingSeconds;
}

void GrpcConnection::stop() {
  if (!session_->has_begun()) return leave();
  has_last_answers_ = n_running_ > 0 || is_writing_ || !incoming_.empty();
  session_->announce_end();
  flush();
}

void GrpcConnection::abort() {
  is_aborting_ = true;
  for (auto& [id, incoming] : incoming_) {
    if (auto* call = incoming.call.get(); call != nullptr && call->is_running()) call->cut_short();
  }
  close_if_done();
}

}  // namespace quiver::service::rpc

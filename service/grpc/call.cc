#include "service/grpc/call.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "base/observe/request_log.h"
#include "service/api/access.h"
#include "service/grpc/call_span.h"
#include "service/grpc/gunzip.h"
#include "service/grpc/reflection.h"

namespace quiver::service::rpc {
namespace {

access::Outcome outcome_of(int code) {
  if (code == 0) return access::Outcome::kOk;
  const bool is_denied = code == static_cast<int>(Code::kUnauthenticated) ||
                         code == static_cast<int>(Code::kPermissionDenied);
  return is_denied ? access::Outcome::kDenied : access::Outcome::kFailed;
}

/// As REST words it: an unknown caller gets a text without a prefix.
ApiError refusal(const Error& error) {
  if (error.code() == Code::kUnauthenticated) return {401, error.message()};
  if (error.code() == Code::kPermissionDenied) return {403, error.message()};
  return {error};
}

ApiError no_gzip(const std::string& encoding) {
  return {501, fmt::format("Not implemented: grpc-encoding `{}` is not supported; `gzip` is",
                           encoding.empty() ? "identity" : encoding)};
}

}  // namespace

api::Credentials credentials_of(const RequestHead& head) {
  api::Credentials credentials;
  if (head.api_key) credentials.api_key = *head.api_key;
  if (head.authorization) credentials.authorization = *head.authorization;
  return credentials;
}

UnaryCall::UnaryCall(CallOwner& owner, http2::StreamId id, GrpcFront& front,
                     const GrpcFront::Route& route, RequestHead head, const std::string& remote)
    : Rpc(front.runtime(), *route.method),
      owner_(owner),
      id_(id),
      front_(front),
      route_(route),
      head_(std::move(head)),
      remote_(remote),
      inflated_(front.messages()) {}

void UnaryCall::take(WireMessage message) {
  has_too_many_messages_ = message_.has_value();
  message_ = std::move(message);
}

void UnaryCall::request_end() {
  is_running_ = true;
  begin(head_.traceparent);
  owner_.started(*this);
  run([this](Rpc&) { return start(); });
}

void UnaryCall::abandon() {
  is_abandoned_ = true;
  cancel();
}

std::optional<double> UnaryCall::seconds_left() const {
  if (!give_up_at_) return std::nullopt;
  return std::chrono::duration<double>(*give_up_at_ - std::chrono::steady_clock::now()).count();
}

Decoded<> UnaryCall::start() {
  if (!message_ || has_too_many_messages_) {
    return bad_request(fmt::format("{} takes one message, the call has {}", method().name,
                                   message_ ? "several" : "none"));
  }
  if (!head_.timeout.empty()) {
    const auto seconds = parse_timeout(head_.timeout);
    if (!seconds) return bad_request(fmt::format("grpc-timeout `{}` is no time", head_.timeout));
    using Clock = std::chrono::steady_clock;
    give_up_at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(*seconds));
  }
  return dispatch();
}

Decoded<> UnaryCall::dispatch() {
  if (method().callers == Callers::kAll) return handle();
  auto principal = api::principal_of(runtime(), credentials_of(head_));
  if (!principal) return fail(refusal(std::move(principal).error()));
  set_principal(*principal);
  if (principal->value_exists() != nullptr) return look_up_and_handle();
  return handle();
}

/// A token may be valid only while a point exists; to look for it may block.
Decoded<> UnaryCall::look_up_and_handle() {
  const bool is_open = runtime().is_open(principal().value_exists()->collection);
  Executor& executor = is_open ? runtime().compute() : runtime().blocking();
  return on_executor(*this, executor, [this](Rpc&) -> Decoded<> {
    auto exists = api::check_value_exists(runtime(), principal());
    if (!exists) return fail(refusal(std::move(exists).error()));
    return handle();
  });
}

Decoded<> UnaryCall::handle() {
  if (method().handler == nullptr) {
    return fail(ApiError(501, fmt::format("Not implemented: {}: {} is not supported",
                                          method().unbuilt_feature, method().name)));
  }
  CallForwarder* forwarder = front_.forwarder();
  if (forwarder == nullptr) return handle_here();
  auto target = target_of(*forwarder);
  if (forwarder->is_here(target)) return handle_here();
  if (head_.is_forwarded) {
    reply_.is_not_leading = true;
    return fail(Code::kUnavailable, forwarder->describe(target));
  }
  forwarder->answer_elsewhere(*this, std::move(target));
  return {};
}

CallForwarder::Target UnaryCall::target_of(const CallForwarder& forwarder) const {
  CallForwarder::Target target{method().effect, {}};
  const bool is_asked =
      target.effect == api::Effect::kLocal || target.effect == api::Effect::kChange;
  if (!is_asked || !forwarder.has_placements()) return target;
  if (!message_->is_compressed) {
    target.collection = first_text(message_->bytes);
    return target;
  }
  const auto bytes = gunzip(message_->bytes, front_.limits().max_message_bytes);
  if (bytes) target.collection = first_text(*bytes);  // else the handler says what is wrong
  return target;
}

Decoded<> UnaryCall::handle_here() {
  if (message_->is_compressed && head_.encoding != "gzip") return fail(no_gzip(head_.encoding));
  set_when_overloaded(method().when_overloaded);
  const bool is_large = message_->bytes.size() > front_.limits().inline_message_bytes;
  if (message_->is_compressed || is_large) {
    if (api::changes_nothing_shared(method().effect) && give_up_at_) set_timeout(seconds_left());
    const api::load::Work kind{api::load::Verb::kDecode, message_->bytes.size()};
    return on_compute(*this, kind, method().handler);
  }
  return method().handler(*this);
}

peer::ForwardedCall UnaryCall::to_forward(std::uint64_t self) {
  peer::ForwardedCall call;
  call.set_method(std::string(method().name));
  if (head_.api_key) call.set_api_key(*head_.api_key);
  if (head_.authorization) call.set_authorization(*head_.authorization);
  call.set_timeout(head_.timeout);
  call.set_encoding(head_.encoding);
  call.set_request_id(head_.request_id);
  call.set_traceparent(trace().to_pass_on(head_.traceparent));
  if (!head_.traceparent.empty()) call.set_tracestate(head_.tracestate);
  call.set_is_compressed(message_->is_compressed);
  call.set_message(message_->bytes);
  call.set_forwarded_by(self);
  return call;
}

RequestHead head_of(const peer::ForwardedCall& call) {
  RequestHead head;
  head.path = call.method();
  if (call.has_api_key()) head.api_key = call.api_key();
  if (call.has_authorization()) head.authorization = call.authorization();
  head.timeout = call.timeout();
  head.encoding = call.encoding();
  head.request_id = call.request_id();
  head.set("traceparent", call.traceparent());
  head.set("tracestate", call.tracestate());
  head.is_forwarded = true;
  return head;
}

void UnaryCall::relay(peer::ForwardedAnswer answer) {
  reply_.status = {answer.code(), std::move(*answer.mutable_text()), answer.is_too_early()};
  reply_.frame = std::move(*answer.mutable_frame());
  reply_.is_compressed = answer.is_compressed();
  set_retry_after(answer.retry_after_s());
  note(reply_.status.code);
  owner_.finished(*this);
}

peer::ForwardedAnswer UnaryCall::to_return() {
  peer::ForwardedAnswer answer;
  answer.set_is_not_leading(reply_.is_not_leading);
  answer.set_code(reply_.status.code);
  answer.set_text(std::move(reply_.status.text));
  answer.set_is_too_early(reply_.status.is_too_early);
  answer.set_retry_after_s(retry_after_s());
  answer.set_is_compressed(reply_.is_compressed);
  answer.set_frame(std::move(reply_.frame));
  return answer;
}

Decoded<> UnaryCall::parse(google::protobuf::MessageLite& message) {
  reply_.is_compressed = message_->is_compressed;
  std::string bytes = std::move(message_->bytes);
  if (reply_.is_compressed) {
    QV_TRY(bytes, gunzip(bytes, front_.limits().max_message_bytes));
    QV_TRY(inflated_.hold(bytes.size()));
  }
  if (message.ParseFromString(bytes)) return {};
  return bad_request(fmt::format("the message is no `{}`, or holds text that is not UTF-8",
                                 message.GetTypeName()));
}

void UnaryCall::answer(const google::protobuf::MessageLite& message) {
  const std::size_t size = message.ByteSizeLong();
  if (size > std::numeric_limits<int>::max()) {
    return error({static_cast<int>(Code::kResourceExhausted),
                  fmt::format("the answer has {} bytes, more than a message can hold", size)});
  }
  reply_.frame = as_frame(message, reply_.is_compressed);
  note(0);
  owner_.finished(*this);
}

void UnaryCall::error(Status status) noexcept {
  const bool is_late = status.code == static_cast<int>(Code::kDeadlineExceeded);
  if (is_late && is_cancelled() && seconds_left().value_or(1) > 0) {
    status.code = static_cast<int>(Code::kCancelled);
  }
  note(status.code);
  reply_.frame.clear();
  reply_.status = std::move(status);
  owner_.finished(*this);
}

void UnaryCall::note(int code) noexcept {
  try {
    route_.metrics->count(code, seconds());
    access::AuditLog* log = runtime().audit();
    if (log != nullptr && method().callers != Callers::kAll) write_audit(code, *log);
    if (logs_requests()) write_request(code);
    if (trace().is_sampled()) {
      runtime().tracer()->add(call_span(*this, code, head_));
    }
  } catch (...) {
    // No memory to count with; the answer matters more.
  }
}

void UnaryCall::write_audit(int code, access::AuditLog& log) {
  access::AuditEvent event;
  event.transport = "grpc";
  event.verb = method().name;
  event.collection = collection();
  event.outcome = outcome_of(code);
  event.status = code;
  event.request_id = head_.request_id;
  const std::string trace_id = trace().logged_id(head_.traceparent);
  event.trace_id = trace_id;
  event.remote = remote_;
  log.write(principal(), event);
}

void UnaryCall::write_request(int code) {
  RequestFacts facts;
  facts.transport = "grpc";
  facts.endpoint = method().name;
  facts.collection = collection();
  facts.status = code;
  facts.seconds = seconds();
  facts.answer_bytes = reply_.frame.size();
  facts.request_id = head_.request_id;
  const std::string trace_id = trace().logged_id(head_.traceparent);
  facts.trace_id = trace_id;
  facts.remote = remote_;
  log_request(facts);
}

void ReflectionCall::take(WireMessage message) {
  grpc::reflection::v1alpha::ServerReflectionRequest request;
  if (message.is_compressed || !request.ParseFromString(message.bytes)) {
    return owner_.end(id_,
                      {static_cast<int>(Code::kInvalidArgument), "the message is no question"});
  }
  owner_.send(id_, as_frame(reflect(request), false));
}

void ReflectionCall::request_end() { owner_.end(id_, {}); }

}  // namespace quiver::service::rpc

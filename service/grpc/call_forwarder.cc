#include "service/grpc/call_forwarder.h"

#include <fmt/format.h>

#include <utility>

#include "base/mutex.h"
#include "service/api/forwarded_calls.h"
#include "service/api/leader_wait.h"
#include "service/grpc/call.h"

namespace quiver::service::rpc {
namespace {

/// Calls that wait for the leader at a time; they mostly sleep.
constexpr std::size_t kThreads = 32;

peer::ForwardedAnswer unavailable(const std::string& text) {
  const Status status = status_of(ApiError(Error(Code::kUnavailable, text)));
  peer::ForwardedAnswer answer;
  answer.set_code(status.code);
  answer.set_text(status.text);
  return answer;
}

/// Waits for the one call that it owns.
class Waiter final : public CallOwner {
 public:
  void started(UnaryCall&) override {}
  void finished(UnaryCall&) noexcept override {
    MutexLock lock(mutex_);
    is_finished_ = true;
    finished_.notify_all();
  }
  void send(http2::StreamId, std::string) override {}
  void end(http2::StreamId, const Status&) override {}

  void wait() {
    MutexLock lock(mutex_);
    while (!is_finished_) finished_.wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar finished_;
  bool is_finished_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace

CallForwarder::CallForwarder(const api::ClusterOptions& options)
    : options_(options), self_(options.node->view().self), executor_(kThreads, "grpc-forward") {}

bool CallForwarder::leads() const {
  const auto leader = options_.node->leader();
  return leader && !*leader;
}

std::string CallForwarder::describe_leader() const {
  const auto leader = options_.node->leader();
  if (!leader) return leader.error().message();
  return "the leader is " + (*leader ? (*leader)->peer : "this node");
}

void CallForwarder::answer_elsewhere(UnaryCall& call) {
  auto work = [this, &call] { answer_by_leader(call); };
  auto refuse = [&call](const Error& error) { call.error(status_of(ApiError(error))); };
  api::run_on(executor_, call, std::move(work), std::move(refuse));
}

void CallForwarder::answer_by_leader(UnaryCall& call) {
  call.run([&](Rpc&) -> Decoded<> {
    call.trace().enter_stage("Forward", tracing::SpanKind::kClient);
    const std::string message = call.to_forward(self_).SerializeAsString();
    std::string reason;
    bool is_here = false;
    auto answer = api::until_answered(call, options_.leader_patience, [&]() -> Answer {
      const auto leader = options_.node->leader();
      is_here = leader && !*leader;
      if (is_here) return peer::ForwardedAnswer();
      if (leader) return send(**leader, message, reason);
      reason = leader.error().message();
      return std::nullopt;
    });
    call.trace().leave_stage();
    if (is_here) return call.handle_here();
    call.relay(answer ? *std::move(answer) : unavailable("the change was not made: " + reason));
    return {};
  });
}

/// nullopt: nothing was done, for a `reason` that may pass.
CallForwarder::Answer CallForwarder::send(const cluster::NodeAddress& leader,
                                          const std::string& message, std::string& reason) {
  const auto bytes = options_.peers->call(leader.peer, api::kForwardedCallVerb, message);
  if (!bytes) {
    const Error& error = bytes.error();
    reason = error.message();
    if (error.code() == Code::kUnavailable) return std::nullopt;
    return error.code() == Code::kDeadlineExceeded
               ? unavailable(reason + "; the operation may be sent again")
               : unavailable("the change was not made: " + reason);
  }
  peer::ForwardedAnswer answer;
  if (!answer.ParseFromString(*bytes)) return unavailable("the leader's answer is damaged");
  if (!answer.is_not_leading()) return answer;
  reason = answer.text();
  return std::nullopt;
}

Result<std::string> answer_forwarded(GrpcFront& front, std::string_view bytes) {
  peer::ForwardedCall forwarded;
  if (!forwarded.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Code::kInvalidArgument, "the forwarded call is damaged");
  }
  const auto* route = front.find(forwarded.method());
  if (route == nullptr) {
    return fail(Code::kUnimplemented, "there is no method " + forwarded.method());
  }
  const std::string remote = fmt::format("node {}", forwarded.forwarded_by());
  Waiter waiter;
  UnaryCall call(waiter, {}, front, *route, head_of(forwarded), remote);
  call.take({std::move(*forwarded.mutable_message()), forwarded.is_compressed()});
  call.request_end();
  waiter.wait();
  return call.to_return().SerializeAsString();
}

}  // namespace quiver::service::rpc

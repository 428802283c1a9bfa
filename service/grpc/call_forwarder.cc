#include "service/grpc/call_forwarder.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "cluster/first_answer.h"
#include "service/api/forwarded_calls.h"
#include "service/api/leader_wait.h"
#include "service/grpc/call.h"

namespace quiver::service::rpc {
namespace {

/// Changes that wait for a leader at a time, and reads that wait for another node; they mostly
/// sleep.
constexpr std::size_t kThreads = 32;

peer::ForwardedAnswer unavailable(const std::string& text) {
  const Status status = status_of(ApiError(Error(Code::kUnavailable, text)));
  peer::ForwardedAnswer answer;
  answer.set_code(status.code);
  answer.set_text(status.text);
  return answer;
}

peer::ForwardedAnswer damaged() { return unavailable("the other node's answer is damaged"); }

/// False: an error of the node, not of the request.
bool is_answered(const peer::ForwardedAnswer& answer) {
  constexpr std::array kErrorsOfNodes = {Code::kUnknown, Code::kDeadlineExceeded,
                                         Code::kResourceExhausted, Code::kInternal,
                                         Code::kUnavailable};
  const auto code = static_cast<Code>(answer.code());
  return !answer.is_not_leading() &&
         std::ranges::find(kErrorsOfNodes, code) == kErrorsOfNodes.end();
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
    : options_(options),
      self_(options.node->view().self),
      executor_(kThreads, "grpc-forward"),
      readers_(kThreads, "grpc-read-away") {}

CallForwarder::Leader CallForwarder::leader_for(const Target& target) const {
  const bool is_of_collection = target.effect == api::Effect::kChange;
  return is_of_collection ? options_.node->leader_of(target.collection) : options_.node->leader();
}

bool CallForwarder::is_here(const Target& target) const {
  if (target.effect == api::Effect::kHere) return true;
  if (target.effect == api::Effect::kLocal) {
    const auto holders = options_.node->holders(target.collection);
    return !holders || holders->is_here;
  }
  const Leader leader = leader_for(target);
  return leader && !*leader;
}

std::string CallForwarder::describe(const Target& target) const {
  if (target.effect == api::Effect::kLocal) {
    return fmt::format("the node does not have collection `{}` now", target.collection);
  }
  const Leader leader = leader_for(target);
  const std::string who = leader ? "the leader is " + (*leader ? (*leader)->peer : "this node")
                                 : leader.error().message();
  return "the node does not lead now, " + who;
}

void CallForwarder::answer_elsewhere(UnaryCall& call, Target target) {
  Executor& executor = target.effect == api::Effect::kLocal ? readers_ : executor_;
  auto work = [this, &call, target = std::move(target)] { answer_by_other(call, target); };
  auto refuse = [&call](const Error& error) { call.error(status_of(ApiError(error))); };
  api::run_on(executor, call, std::move(work), std::move(refuse));
}

void CallForwarder::answer_by_other(UnaryCall& call, const Target& target) {
  call.run([&](Rpc&) -> Decoded<> {
    call.trace().enter_stage("Forward", tracing::SpanKind::kClient);
    const std::string message = call.to_forward(self_).SerializeAsString();
    std::string reason;
    bool is_answered_here = false;
    auto answer = api::until_answered(call, options_.leader_patience, [&]() -> Answer {
      is_answered_here = is_here(target);
      if (is_answered_here) return peer::ForwardedAnswer();
      return attempt(target, message, reason);
    });
    call.trace().leave_stage();
    if (is_answered_here) return call.handle_here();
    const bool is_read = target.effect == api::Effect::kLocal;
    const std::string what =
        is_read ? fmt::format("no node with collection `{}` answers: ", target.collection)
                : "the change was not made: ";
    call.relay(answer ? *std::move(answer) : unavailable(what + reason));
    return {};
  });
}

/// Who answers is asked anew each time: the collection may move, or have another leader.
CallForwarder::Answer CallForwarder::attempt(const Target& target, const std::string& message,
                                             std::string& reason) {
  if (target.effect != api::Effect::kLocal) {
    const Leader leader = leader_for(target);
    if (leader && *leader) return send(**leader, message, reason);
    reason = leader ? "this node is about to lead" : leader.error().message();
    return std::nullopt;
  }
  const auto holders = options_.node->holders(target.collection);
  if (!holders) return std::nullopt;
  return read_from(*holders, message, reason);
}

/// A node that is late may get its answer after the call is over: what it needs is copied.
CallForwarder::Answer CallForwarder::read_from(const cluster::Holders& holders,
                                               const std::string& message, std::string& reason) {
  const auto answers = std::make_shared<cluster::FirstAnswer<peer::ForwardedAnswer>>();
  const auto ask = [answers, message, node = options_.node,
                    peers = options_.peers](const cluster::NodeAddress& holder) {
    cluster::ReadTimer timer(*node, holder);
    const auto bytes = peers->call(holder.peer, api::kForwardedCallVerb, message);
    peer::ForwardedAnswer answer;
    const bool is_whole = bytes && answer.ParseFromString(*bytes);
    timer.end(is_whole && is_answered(answer));
    if (!bytes) return answers->miss(bytes.error().message());
    if (!is_whole) return answers->spare(damaged());
    if (answer.is_not_leading()) return answers->miss(answer.text());
    // A deadline that has passed here has passed on other nodes, too.
    const bool is_late = answer.code() == static_cast<int>(Code::kDeadlineExceeded);
    return is_late || is_answered(answer) ? answers->keep(std::move(answer))
                                          : answers->spare(std::move(answer));
  };
  (void)options_.node->ask_holders(holders, ask);
  auto answer = answers->take();
  if (!answer) reason = answers->trouble(reason);
  return answer;
}

/// nullopt: nothing was done, for a `reason` that may pass.
CallForwarder::Answer CallForwarder::send(const cluster::NodeAddress& node,
                                          const std::string& message, std::string& reason) {
  const auto bytes = options_.peers->call(node.peer, api::kForwardedCallVerb, message);
  peer::ForwardedAnswer answer;
  if (!bytes) {
    const Error& error = bytes.error();
    reason = error.message();
    if (error.code() == Code::kUnavailable) return std::nullopt;
    return error.code() == Code::kDeadlineExceeded
               ? unavailable(reason + "; the operation may be sent again")
               : unavailable("the change was not made: " + reason);
  }
  if (!answer.ParseFromString(*bytes)) return damaged();
  if (!answer.is_not_leading()) return answer;
  reason = answer.text();
  return std::nullopt;
}

std::string first_text(std::string_view message) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  constexpr std::uint32_t kFirst =
      WireFormatLite::MakeTag(1, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  std::string text;
  while (const std::uint32_t tag = in.ReadTag()) {
    if (tag == kFirst) {
      std::uint32_t n = 0;
      if (!in.ReadVarint32(&n) || !in.ReadString(&text, static_cast<int>(n))) return "";
      return text;
    }
    if (!WireFormatLite::SkipField(&in, tag)) return "";
  }
  return "";
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

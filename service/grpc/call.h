// The two kinds of calls that a connection serves, from their headers to their end.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/peer.pb.h"
#include "service/access/audit_log.h"
#include "service/grpc/front.h"
#include "service/grpc/rpc.h"
#include "service/grpc/wire.h"

namespace quiver::service::rpc {

class UnaryCall;

/// What calls need of their connection.
class CallOwner {
 public:
  /// The call begins; from now on other threads may use it. The loop's thread.
  virtual void started(UnaryCall& call) = 0;
  /// The call has its reply. Any thread; the last use of the call on this thread.
  virtual void finished(UnaryCall& call) noexcept = 0;
  /// Sends a message of a call that has several. The loop's thread.
  virtual void send(http2::StreamId id, std::string frame) = 0;
  /// Ends such a call. The loop's thread.
  virtual void end(http2::StreamId id, const Status& status) = 0;

 protected:
  ~CallOwner() = default;
};

/// Used on the loop's thread.
class IncomingCall {
 public:
  virtual ~IncomingCall() = default;
  virtual void take(WireMessage message) = 0;
  /// The client has sent everything.
  virtual void request_end() = 0;
  /// The client waits no longer.
  virtual void abandon() = 0;
  /// The work for the call should end early, with an error for the client.
  virtual void cut_short() = 0;
  /// True while another thread may use the call.
  [[nodiscard]] virtual bool is_running() const { return false; }
};

/// One message in, one message or an error out.
class UnaryCall final : public IncomingCall, public Rpc {
 public:
  /// What the client gets. `frame` is empty after an error.
  struct Reply {
    std::string frame;
    Status status;
    bool is_compressed = false;
    bool is_not_leading = false;  ///< another node of the cluster must do it
  };

  /// All arguments outlive the call, but `head`.
  UnaryCall(CallOwner& owner, http2::StreamId id, GrpcFront& front, const GrpcFront::Route& route,
            RequestHead head, const std::string& remote);

  void take(WireMessage message) override;
  void request_end() override;
  void abandon() override;
  void cut_short() override { cancel(); }
  [[nodiscard]] bool is_running() const override { return is_running_; }
  [[nodiscard]] bool is_abandoned() const { return is_abandoned_; }

  [[nodiscard]] http2::StreamId id() const { return id_; }
  /// Once finished.
  [[nodiscard]] Reply& reply() { return reply_; }
  void set_delivered() { is_running_ = false; }

  [[nodiscard]] std::optional<double> seconds_left() const override;
  void answer(const google::protobuf::MessageLite& message) override;
  void error(Status status) noexcept override;

  /// The request, for another node; the call keeps it, too.
  [[nodiscard]] peer::ForwardedCall to_forward(std::uint64_t self);
  /// The call ends with what the other node answered.
  void relay(peer::ForwardedAnswer answer);
  /// Answers the call on this node.
  [[nodiscard]] Decoded<> handle_here();
  /// The reply, for another node. Once finished.
  [[nodiscard]] peer::ForwardedAnswer to_return();

  UnaryCall* next = nullptr;  ///< for a list of finished calls

 protected:
  Decoded<> parse(google::protobuf::MessageLite& message) override;

 private:
  Decoded<> start();
  Decoded<> dispatch();
  Decoded<> look_up_and_handle();
  Decoded<> handle();
  /// Who is to answer it in a cluster.
  [[nodiscard]] CallForwarder::Target target_of(const CallForwarder& forwarder) const;
  void note(int code) noexcept;
  void write_audit(int code, access::AuditLog& log);
  void write_request(int code);

  CallOwner& owner_;
  const http2::StreamId id_;
  GrpcFront& front_;
  const GrpcFront::Route& route_;
  const RequestHead head_;
  const std::string& remote_;
  std::optional<WireMessage> message_;
  bool has_too_many_messages_ = false;
  std::optional<std::chrono::steady_clock::time_point> give_up_at_;
  BodyMemory inflated_;
  Reply reply_;
  bool is_running_ = false;
  bool is_abandoned_ = false;
};

/// Questions about services and messages, each answered before the next is read.
class ReflectionCall final : public IncomingCall {
 public:
  ReflectionCall(CallOwner& owner, http2::StreamId id) : owner_(owner), id_(id) {}

  void take(WireMessage message) override;
  void request_end() override;
  void abandon() override {}
  void cut_short() override {}

 private:
  CallOwner& owner_;
  const http2::StreamId id_;
};

[[nodiscard]] api::Credentials credentials_of(const RequestHead& head);
/// The headers of a call that another node sent on.
[[nodiscard]] RequestHead head_of(const peer::ForwardedCall& call);

}  // namespace quiver::service::rpc

// What all gRPC connections share: limits, methods, and the memory of messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "service/api/runtime.h"
#include "service/grpc/call_forwarder.h"
#include "service/grpc/method_metrics.h"
#include "service/grpc/methods/methods.h"
#include "service/http/exchange/body_memory.h"

namespace quiver::service::rpc {

/// Limits that gRPC shares with HTTP.
struct GrpcLimits {
  std::size_t max_message_bytes = 32ULL << 20;
  std::size_t inline_message_bytes = 64 << 10;  ///< larger ones are decoded on another thread
  std::uint32_t max_header_bytes = 16 << 10;
  double keep_alive_timeout_s = 75;  ///< of silence, until the client is asked for a sign of life
  double read_timeout_s = 60;        ///< until a stalled request or answer is given up
  bool has_reflection = false;       ///< answer which services and messages there are
};

/// Thread-safe.
class GrpcFront {
 public:
  struct Route {
    const Method* method = nullptr;
    MethodMetrics* metrics = nullptr;
  };

  /// `runtime` and `messages`, the memory that large messages may take, outlive this.
  GrpcFront(const GrpcLimits& limits, api::Runtime& runtime, BodyBudget& messages);

  [[nodiscard]] const GrpcLimits& limits() const { return limits_; }
  [[nodiscard]] api::Runtime& runtime() const { return runtime_; }
  /// Sends changes to the leader; null: the server is alone.
  [[nodiscard]] CallForwarder* forwarder() { return forwarder_ ? &*forwarder_ : nullptr; }
  [[nodiscard]] BodyBudget& messages() const { return messages_; }
  /// The method of this path ("/qdrant.Points/Upsert"); null if there is none.
  [[nodiscard]] const Route* find(std::string_view path) const;
  /// True if calls of this path are questions about the services.
  [[nodiscard]] bool is_reflection(std::string_view path) const;

 private:
  const GrpcLimits limits_;
  api::Runtime& runtime_;
  BodyBudget& messages_;
  const Methods methods_;
  std::deque<MethodMetrics> metrics_;
  std::unordered_map<std::string_view, Route> routes_;
  std::optional<CallForwarder> forwarder_;
};

}  // namespace quiver::service::rpc

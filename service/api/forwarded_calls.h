// Calls of gRPC that another node of a cluster sends on.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace quiver::service::api {

/// Thread-safe.
class ForwardedCalls {
 public:
  virtual ~ForwardedCalls() = default;
  /// Answers a ForwardedCall with a ForwardedAnswer (proto/peer.proto), for which it waits. Errors:
  /// nothing was done.
  [[nodiscard]] virtual Result<std::string> answer_forwarded(std::string_view call) = 0;
};

/// The verb of such messages between nodes.
inline constexpr std::string_view kForwardedCallVerb = "grpc";

}  // namespace quiver::service::api

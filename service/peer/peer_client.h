// Messages to other nodes, over HTTP.
#pragma once

#include <string>
#include <string_view>

#include "base/observe/log_limit.h"
#include "cluster/node.h"
#include "service/client/connection_pool.h"

namespace quiver::service {

inline constexpr std::uint16_t kDefaultPeerPort = 6335;

struct PeerClientOptions {
  std::string secret;  ///< as the other nodes want it; visible ASCII
  client::CallLimits limits;
};

/// Keeps connections open, one per call at a time. Thread-safe.
class HttpPeerClient final : public cluster::PeerClient {
 public:
  explicit HttpPeerClient(PeerClientOptions options)
      : secret_(std::move(options.secret)), connections_(options.limits) {}

  /// `verb`: any text. kUnavailable: the node was not reached, so nothing was done there.
  /// kDeadlineExceeded: it was, but gave no answer; what it did is not known. kPermissionDenied:
  /// it has another secret.
  [[nodiscard]] Result<std::string> call(const std::string& peer, std::string_view verb,
                                         std::string_view body) override;

 private:
  const std::string secret_;
  client::ConnectionPool connections_;
  LogLimit repeated_;
};

}  // namespace quiver::service

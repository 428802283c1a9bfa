// The server for the other nodes of a cluster: POST /internal/v1/{verb}, bytes in, bytes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/observe/metrics.h"
#include "service/peer/peer_port.h"
#include "service/server.h"

namespace quiver::service {

struct PeerServerOptions {
  std::string host = "127.0.0.1";  ///< address or name to listen on
  std::uint16_t port = 6335;       ///< 0: any free one
  std::string secret;              ///< header `x-quiver-secret` of every message; "": none
  std::size_t max_message_bytes = std::size_t{256} << 20;
  std::uint32_t n_threads = 12;  ///< messages answered at a time: 4 for each node
  double shutdown_grace_s = 8;   ///< time that `stop` gives to answers
  std::string metrics_prefix = "peer_";
};

/// Answers 200 with the bytes, or the error as JSON; 403 for a message without the secret, whose
/// body it does not read.
class PeerServer {
 public:
  /// kUnavailable if the address cannot be bound. `node` and `metrics` outlive it.
  [[nodiscard]] static Result<std::unique_ptr<PeerServer>> start(const PeerServerOptions& options,
                                                                 cluster::Node& node,
                                                                 MetricsRegistry& metrics);
  ~PeerServer();

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  /// Forwarded calls of gRPC, refused until now, are answered by `calls`, which outlives this.
  void use(api::ForwardedCalls& calls) { peer_port_.use(calls); }
  /// As Server::stop.
  Result<> stop() { return server_->stop(); }

 private:
  PeerServer(const PeerServerOptions& options, cluster::Node& node)
      : peer_port_(node, options.secret, options.n_threads) {}

  PeerPort peer_port_;
  std::unique_ptr<Server> server_;
};

}  // namespace quiver::service

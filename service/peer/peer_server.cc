#include "service/peer/peer_server.h"

#include <utility>
#include <vector>

#include "base/observe/log.h"
#include "service/api/runtime.h"
#include "service/http/exchange/on_executor.h"
#include "service/http/router.h"
#include "service/peer/peer_error.h"

namespace quiver::service {
namespace {

constexpr int kErrorStatus = 500;

PeerPort& port_of(const Exchange& x) { return *x.runtime().options().peer_port; }

/// Refuses a stranger before its body is read; the body of others is kept in memory.
Decoded<std::unique_ptr<BodySink>> check_secret(Exchange& x) {
  if (port_of(x).is_admitted(x.request.secret, x.remote)) return nullptr;
  return fail(ApiError(403, "Forbidden: wrong or missing x-quiver-secret (cluster.secret)"));
}

Decoded<Answer> answer_here(Exchange& x) {
  auto answer = port_of(x).answer(x.captures[0], x.request.body);
  if (answer) {
    x.response.content_type = "application/octet-stream";
    x.response.body = *std::move(answer);
  } else {
    x.response.status = kErrorStatus;
    x.response.body = peer_error_json(answer.error());
  }
  return Answer::kReady;
}

Decoded<Answer> answer_message(Exchange& x) {
  return on_executor(x, port_of(x).executor(x.captures[0]), answer_here);
}

std::vector<RouteDeclaration> peer_routes() {
  return {{Method::kPost, "/internal/v1/{verb}", Access::kOpen, answer_message, Effect::kLocal,
           check_secret}};
}

ServerOptions server_options(const PeerServerOptions& options, PeerPort& peer_port) {
  ServerOptions server;
  server.host = options.host;
  server.port = options.port;
  server.max_body_bytes = options.max_message_bytes;
  server.shutdown_grace_s = options.shutdown_grace_s;
  server.metrics_prefix = options.metrics_prefix;
  server.compress_above_bytes = 0;
  server.has_console = false;
  server.peer_port = &peer_port;
  return server;
}

}  // namespace

Result<std::unique_ptr<PeerServer>> PeerServer::start(const PeerServerOptions& options,
                                                      cluster::Node& node,
                                                      MetricsRegistry& metrics) {
  std::unique_ptr<PeerServer> peers(new PeerServer(options, node));
  QV_TRY(peers->server_, Server::start(server_options(options, peers->peer_port_), node.database(),
                                       metrics, peer_routes()));
  return peers;
}

/// The threads end before the event loops that they post to.
PeerServer::~PeerServer() {
  if (server_) {
    if (auto stopped = server_->stop(); !stopped) log_error("peer: {}", stopped.error().message());
  }
  peer_port_.stop();
}

}  // namespace quiver::service

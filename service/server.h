// The server of one Database: a REST API over HTTP/1.1, and gRPC (service/grpc/) if it is
// enabled.
//
// Threads: `io_threads` threads, each with an event loop and the connections given to it; a few for
// calls that block (catalog changes, index creation, opening a collection); one for reports about
// the whole server (metrics, readiness), which wait for none of those. Queries that are not small
// run on the database's compute executor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/observe/metrics.h"
#include "base/result.h"
#include "engine/database.h"
#include "service/access/tls_options.h"
#include "service/api/forwarded_calls.h"
#include "service/api/options.h"
#include "service/grpc/options.h"
#include "service/http/options.h"

namespace quiver::service {

using api::Identity;
struct RouteDeclaration;

/// For clients that insist on the name and version of the server whose API this is.
[[nodiscard]] Identity compatible_identity();

struct ServerOptions : api::Options, HttpOptions {
  TlsOptions tls;
  std::string host = "127.0.0.1";         ///< address or name to listen on
  std::uint16_t port = 6333;              ///< 0: any free one, see Server::port
  std::uint32_t io_threads = 0;           ///< 0: half the cores, at least 1
  std::uint32_t max_connections = 10000;  ///< more are answered 503 and closed
  double shutdown_grace_s = 8;            ///< time that `stop` gives to answers
  double cancel_patience_s = 5;           ///< time that it then gives to what it cancels
  GrpcOptions grpc;
};

class Server : public api::ForwardedCalls {
 public:
  /// Listens and serves until `stop`. kUnavailable if the address cannot be bound. `database` and
  /// `metrics` outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(ServerOptions options,
                                                             engine::Database& database,
                                                             MetricsRegistry& metrics);
  /// As above, with other endpoints, and without gRPC.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(
      ServerOptions options, engine::Database& database, MetricsRegistry& metrics,
      const std::vector<RouteDeclaration>& routes);

  /// The port it listens on.
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// The port that gRPC listens on; 0: there is no gRPC.
  [[nodiscard]] virtual std::uint16_t grpc_port() const = 0;
  /// Stops accepting connections and drops requests that have not arrived completely. Others may
  /// finish within the grace time; then they are cancelled. Closes all connections and ends the
  /// threads. Call once, not from a thread of the server. kDeadlineExceeded if a cancelled request
  /// does not end. Then the process should exit without the destructor, which would wait for that
  /// request.
  virtual Result<> stop() = 0;
};

}  // namespace quiver::service

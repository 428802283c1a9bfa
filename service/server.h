// The HTTP/1.1 front: a REST API over one Database.
//
// Threads: `io_threads` threads that each own one event loop and the connections given to it, and
// a few for calls that block (catalog changes, index creation, opening a collection), one for what
// is told of the whole server (metrics, readiness), which waits for none of those. Queries that are
// not small run on the database's compute executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/observe/metrics.h"
#include "base/result.h"
#include "engine/database.h"
#include "engine/model/config.h"

namespace quiver::service {

/// What the server says of itself.
struct Identity {
  std::string name = "quiver";
  std::string title = "quiver - vector search engine";
  std::string version = "0.1.0";
  std::string commit;  ///< 40 hex digits; empty: left out
};

/// For clients that insist on the name and version of the server whose API this is.
[[nodiscard]] Identity compatible_identity();

struct ServerOptions {
  std::string host = "127.0.0.1";            ///< address or name to listen on
  std::uint16_t port = 6333;                 ///< 0: any free one, see Server::port
  std::uint32_t io_threads = 0;              ///< 0: half the cores, at least 1
  std::size_t max_body_bytes = 32ULL << 20;  ///< more is 413
  /// Over all connections, counting bodies of 1 MiB and more, compressed ones as what they stand
  /// for; beyond it they are refused with 503.
  std::size_t max_held_body_bytes = 1ULL << 30;
  std::uint32_t max_header_bytes = 16 << 10;  ///< request line and headers; more is 431
  std::uint32_t max_connections = 10000;      ///< more are answered 503 and closed
  double keep_alive_timeout_s = 75;           ///< a connection without a request is closed
  double read_timeout_s = 60;                 ///< a request or an answer that stalls
  double query_timeout_s = 60;                ///< of reads that do not say `timeout`
  double shutdown_grace_s = 8;                ///< `stop` lets answers take so long
  double cancel_patience_s = 5;               ///< and waits so long for those it cancels
  /// Bodies up to this size are decoded on the thread that read them.
  std::size_t inline_body_bytes = 64ULL << 10;
  std::string api_key;            ///< empty: everybody may do everything
  std::string read_only_api_key;  ///< empty: none
  bool cors = false;              ///< answer browsers of any origin
  std::string metrics_prefix;
  engine::CreationOptions creation;
  Identity identity;
};

class Server {
 public:
  /// Listens and serves until `stop`. kUnavailable if the address cannot be bound. `database` and
  /// `metrics` outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(ServerOptions options,
                                                             engine::Database& database,
                                                             MetricsRegistry& metrics);
  virtual ~Server() = default;

  /// The port it listens on.
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// Stops accepting, ends requests that have not arrived whole, lets the others be answered within
  /// the grace time (then cancels them), closes every connection and ends the threads. Call once,
  /// not from a thread of the server. kDeadlineExceeded if one runs on though it is cancelled: the
  /// destructor, which does the same, would wait for it, so the process should end without.
  virtual Result<> stop() = 0;
};

}  // namespace quiver::service

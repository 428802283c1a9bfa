// The gRPC server: the services of proto/ over the runtime that HTTP uses, too.
//
// Threads: those of the gRPC library (half the cores, at least 2) read requests, decode small ones
// and run small queries. Everything else runs on the executors of the runtime. No thread waits for
// a call.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "service/access/tls_options.h"
#include "service/api/runtime.h"
#include "service/grpc/options.h"
#include "service/http/exchange/body_memory.h"

namespace quiver::service {

/// Limits that gRPC shares with HTTP.
struct GrpcLimits {
  std::size_t max_message_bytes = 32ULL << 20;
  std::size_t max_held_bytes = 1ULL << 30;      ///< over all messages
  std::size_t inline_message_bytes = 64 << 10;  ///< larger ones are decoded on another thread
};

class GrpcServer {
 public:
  /// Listens and serves until `stop`. kUnavailable if the address cannot be bound. `runtime` and
  /// `messages`, the memory that large messages may take, outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<GrpcServer>> start(const GrpcOptions& options,
                                                                 const TlsOptions& tls,
                                                                 const GrpcLimits& limits,
                                                                 api::Runtime& runtime,
                                                                 BodyBudget& messages);
  /// Waits until all calls have ended.
  virtual ~GrpcServer() = default;

  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// Returns at once. Takes no more calls; those that run may finish within `grace`, then they are
  /// cancelled.
  virtual void begin_stop(std::chrono::duration<double> grace) = 0;
  /// False if a call still runs after `patience`.
  [[nodiscard]] virtual bool wait_until_stopped(std::chrono::duration<double> patience) = 0;
};

}  // namespace quiver::service

#include "service/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "base/observe/log_limit.h"
#include "service/api/runtime.h"
#include "service/grpc/connection.h"
#include "service/grpc/front.h"
#include "service/handlers/handlers.h"
#include "service/http/connection.h"
#include "service/http/front.h"
#include "service/net/listener.h"

namespace quiver::service {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// Clients that are told, after their handshake, that there are too many.
constexpr std::size_t kMaxTurnedAway = 64;
constexpr auto kTick = std::chrono::seconds(1);
/// Wait after an accept that failed for lack of file handles or memory.
constexpr auto kAcceptRetry = std::chrono::milliseconds(50);

std::uint32_t n_io_threads(const ServerOptions& options) {
  if (options.io_threads > 0) return options.io_threads;
  return std::max(1U, std::thread::hardware_concurrency() / 2);
}

/// A thread with an event loop.
class IoThread {
 public:
  explicit IoThread(std::size_t number) : number_(number), work_(loop_.context.get_executor()) {}

  void start() {
    asio::co_spawn(loop_.context, tick_connections(), asio::detached);
    thread_ = std::thread([this] { run(); });
  }
  void join() {
    if (!thread_.joinable()) return;
    work_.reset();
    loop_.context.stop();
    thread_.join();
  }
  [[nodiscard]] EventLoop& loop() { return loop_; }

 private:
  void run() {
    pthread_setname_np(pthread_self(), fmt::format("http-io-{}", number_).substr(0, 15).c_str());
    for (;;) {
      try {
        loop_.context.run();
        return;
      } catch (const std::exception& exception) {
        log_error("http: event loop {}: {}", number_, exception.what());
      }
    }
  }
  asio::awaitable<void> tick_connections() {
    asio::steady_timer timer(loop_.context);
    for (;;) {
      timer.expires_after(kTick);
      co_await timer.async_wait(asio::use_awaitable);
      for (LoopConnection* connection : loop_.connections) connection->tick();
    }
  }

  const std::size_t number_;
  EventLoop loop_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

std::vector<std::unique_ptr<IoThread>> make_threads(std::size_t n) {
  std::vector<std::unique_ptr<IoThread>> threads;
  for (std::size_t i = 0; i < n; ++i) threads.push_back(std::make_unique<IoThread>(i));
  return threads;
}

ServerOptions with_scheme(ServerOptions options) {
  options.is_https = options.tls.enabled;
  return options;
}

class HttpServer final : public Server {
 public:
  HttpServer(ServerOptions options, engine::Database& database, MetricsRegistry& metrics,
             const std::vector<RouteDeclaration>& routes, std::span<const UnbuiltEndpoint> unbuilt)
      : options_(with_scheme(std::move(options))),
        threads_(make_threads(n_io_threads(options_))),
        runtime_(options_, database, metrics),
        front_(options_, runtime_, routes, unbuilt),
        open_connections_(metrics.gauge(options_.metrics_prefix + "rest_open_connections",
                                        "Open HTTP connections")),
        open_grpc_connections_(metrics.gauge(options_.metrics_prefix + "grpc_open_connections",
                                             "Open gRPC connections")) {}
  ~HttpServer() override {
    if (auto stopped = stop(); !stopped) log_error("http: {}", stopped.error().message());
    while (!wait_until_idle(std::chrono::hours(1))) {
    }
    join_threads();
  }

  Result<> listen() {
    if (options_.audit.enabled) {
      QV_TRY(auto audit, access::AuditLog::open(options_.audit));
      runtime_.use(std::move(audit));
    }
    if (options_.tracing.is_on()) {
      QV_TRY(auto tracer, tracing::Tracer::start(options_.tracing, trace_resource(),
                                                 runtime_.metrics(), options_.metrics_prefix));
      runtime_.use(std::move(tracer));
    }
    QV_TRY(listen(http_.listener, options_.host, options_.port, Protocol::kHttp1));
    return listen_for_grpc();
  }

  void run() {
    asio::co_spawn(accept_context(), accept_connections(http_), asio::detached);
    if (grpc_) asio::co_spawn(accept_context(), accept_connections(*grpc_), asio::detached);
    for (auto& thread : threads_) thread->start();
    running_ = true;
  }

  [[nodiscard]] std::uint16_t port() const override { return http_.listener.port(); }
  [[nodiscard]] std::uint16_t grpc_port() const override {
    return grpc_ ? grpc_->listener.port() : 0;
  }

  Result<std::string> answer_forwarded(std::string_view call) override {
    if (!grpc_front_) return fail(Code::kFailedPrecondition, "the server is in no cluster");
    return rpc::answer_forwarded(*grpc_front_, call);
  }

  Result<> stop() override {
    if (!running_) return {};
    running_ = false;
    asio::post(accept_context(), [this] {
      http_.listener.close();
      if (grpc_) grpc_->listener.close();
    });
    for_each_connection(&LoopConnection::stop);
    const auto grace = std::chrono::duration<double>(options_.shutdown_grace_s);
    QV_TRY(stop_connections(grace));
    join_threads();
    if (runtime_.tracer() != nullptr) runtime_.tracer()->stop();
    return {};
  }

 private:
  /// An address and who serves its clients.
  struct Port {
    Port(asio::io_context& context, Gauge& open) : listener(context), n_open(open) {}
    Listener listener;
    Gauge& n_open;
    rpc::GrpcFront* grpc = nullptr;  ///< null: HTTP/1.1
  };

  Result<> listen(Listener& listener, const std::string& host, std::uint16_t port,
                  Protocol protocol) {
    if (options_.tls.enabled) {
      QV_TRY(auto tls, TlsContext::load(options_.tls, protocol));
      listener.use(std::move(tls));
    }
    return listener.listen(host, port);
  }

  Result<> listen_for_grpc() {
    const GrpcOptions& grpc = options_.grpc;
    const bool is_in_cluster = options_.cluster.node != nullptr;
    if (grpc.port != 0 || is_in_cluster) {
      grpc_front_ = std::make_unique<rpc::GrpcFront>(grpc_limits(), runtime_, front_.body_budget());
    }
    if (grpc.port == 0) return {};
    grpc_.emplace(accept_context(), open_grpc_connections_);
    grpc_->grpc = grpc_front_.get();
    const auto port = static_cast<std::uint16_t>(std::max(grpc.port, 0));
    return listen(grpc_->listener, grpc.host.empty() ? options_.host : grpc.host, port,
                  Protocol::kHttp2);
  }

  [[nodiscard]] tracing::Resource trace_resource() const {
    tracing::Resource resource;
    resource.service_name = options_.tracing.service_name;
    resource.service_version = options_.identity.version;
    resource.instance_id = runtime_.process_id();
    resource.host_name = tracing::host_name();
    return resource;
  }

  [[nodiscard]] rpc::GrpcLimits grpc_limits() const {
    rpc::GrpcLimits limits;
    limits.max_message_bytes = options_.max_body_bytes;
    limits.inline_message_bytes = options_.inline_body_bytes;
    limits.max_header_bytes = options_.max_header_bytes;
    limits.keep_alive_timeout_s = options_.keep_alive_timeout_s;
    limits.read_timeout_s = options_.read_timeout_s;
    limits.has_reflection = options_.grpc.reflection;
    return limits;
  }

  Result<> stop_connections(std::chrono::duration<double> grace) {
    if (!wait_until_idle(grace)) {
      log_warning("http: {} connections did not finish in {:.1f} s, cancelling", n_open(),
                  grace.count());
      for_each_connection(&LoopConnection::abort);
      // Requests in the engine must finish before the loops end.
      const auto patience = std::chrono::duration<double>(options_.cancel_patience_s);
      if (!wait_until_idle(patience)) {
        return fail(Code::kDeadlineExceeded,
                    fmt::format("{} requests go on, {:.1f} s after they were cancelled", n_open(),
                                patience.count()));
      }
    }
    return {};
  }

  void join_threads() {
    for (auto& thread : threads_) thread->join();
  }

  asio::io_context& accept_context() { return threads_.front()->loop().context; }

  asio::awaitable<void> accept_connections(Port& port) {
    asio::steady_timer timer(accept_context());
    for (std::size_t next = 0;; next = (next + 1) % threads_.size()) {
      EventLoop& loop = threads_[next]->loop();
      Listener::Accepted accepted = co_await port.listener.accept(loop.context);
      if (!port.listener.is_open()) co_return;
      if (accepted.stream) {
        admit_or_drop(loop, std::move(accepted.stream), port);
        continue;
      }
      repeated_.log(LogLevel::kWarning, "accept",
                    "http: cannot accept: " + accepted.error.message());
      timer.expires_after(kAcceptRetry);
      error_code ignored;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }

  /// An exception (for lack of memory) costs one client, not all later ones.
  void admit_or_drop(EventLoop& loop, std::unique_ptr<Stream> stream, Port& port) noexcept {
    run_logged("http: a client is dropped", [&] { admit(loop, std::move(stream), port); });
  }

  void admit(EventLoop& loop, std::unique_ptr<Stream> stream, Port& port) {
    if (n_open() >= options_.max_connections) {
      repeated_.log(LogLevel::kWarning, "turn away",
                    fmt::format("http: all {} connections (service.max_connections) are in use, "
                                "more are turned away",
                                options_.max_connections));
      if (port.grpc == nullptr) turn_away(loop, std::move(stream));
      return;
    }
    if (port.grpc == nullptr) {
      auto connection = std::make_shared<Connection>(loop, std::move(stream), front_);
      return serve(loop, Connection::serve(std::move(connection)), port.n_open);
    }
    auto connection = std::make_shared<rpc::GrpcConnection>(loop, std::move(stream), *port.grpc);
    serve(loop, rpc::GrpcConnection::serve(std::move(connection)), port.n_open);
  }

  void serve(EventLoop& loop, asio::awaitable<void> serving, Gauge& open) {
    change_open(open, +1);
    asio::co_spawn(loop.context, std::move(serving),
                   [this, &open](const std::exception_ptr& failure) {
                     if (failure) log_error("http: a connection ended by an exception");
                     change_open(open, -1);
                   });
  }

  /// A stream that must shake hands first takes a while; only a few such clients are told why.
  void turn_away(EventLoop& loop, std::unique_ptr<Stream> stream) {
    if (stream->is_established()) {
      const std::string answer = Connection::turned_away_text();
      const std::array buffers = {asio::const_buffer(answer.data(), answer.size())};
      error_code ignored;
      [[maybe_unused]] const std::size_t n = stream->write_now(buffers, ignored);
      return;
    }
    if (n_turned_away_ >= kMaxTurnedAway) return;
    auto connection = std::make_shared<Connection>(loop, std::move(stream), front_);
    ++n_turned_away_;
    change_open(open_connections_, +1);
    asio::co_spawn(loop.context, Connection::turn_away(std::move(connection)),
                   [this](const std::exception_ptr&) {
                     --n_turned_away_;
                     change_open(open_connections_, -1);
                   });
  }

  /// Calls `action` on each loop's own thread. From then on the loop is stopping.
  void for_each_connection(void (LoopConnection::*action)()) {
    for (auto& thread : threads_) {
      EventLoop& loop = thread->loop();
      asio::post(loop.context, [&loop, action] {
        loop.stopping = true;
        for (LoopConnection* connection : loop.connections) (connection->*action)();
      });
    }
  }

  [[nodiscard]] std::size_t n_open() {
    MutexLock lock(mutex_);
    return n_open_;
  }
  void change_open(Gauge& open, int by) {
    MutexLock lock(mutex_);
    n_open_ += static_cast<std::size_t>(by);
    open.add(by);
    if (n_open_ == 0) idle_.notify_all();
  }
  bool wait_until_idle(std::chrono::duration<double> timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    MutexLock lock(mutex_);
    while (n_open_ > 0) {
      const auto left = end - std::chrono::steady_clock::now();
      if (left <= left.zero()) return false;
      idle_.wait_for(mutex_, left);
    }
    return true;
  }

  const ServerOptions options_;
  // The loops outlive the runtime: its executors post to them until they have stopped.
  std::vector<std::unique_ptr<IoThread>> threads_;
  api::Runtime runtime_;
  Front front_;
  bool running_ = false;
  LogLimit repeated_;
  std::atomic<std::size_t> n_turned_away_ = 0;
  Gauge& open_connections_;
  Gauge& open_grpc_connections_;
  Port http_{accept_context(), open_connections_};
  std::unique_ptr<rpc::GrpcFront> grpc_front_;  ///< null: no gRPC, and no cluster
  std::optional<Port> grpc_;

  Mutex mutex_;
  CondVar idle_;
  std::size_t n_open_ QV_GUARDED_BY(mutex_) = 0;
};

Result<std::unique_ptr<Server>> run(std::unique_ptr<HttpServer> server) {
  QV_TRY(server->listen());
  server->run();
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace

Identity compatible_identity() {
  return {.name = "qdrant",
          .title = "qdrant - vector search engine",
          .version =
              "1.19.0",  // clients warn if the minor version differs from theirs by more than one
          .commit = ""};
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, engine::Database& database,
                                              MetricsRegistry& metrics) {
  return run(std::make_unique<HttpServer>(std::move(options), database, metrics, all_routes(),
                                          unbuilt_endpoints()));
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, engine::Database& database,
                                              MetricsRegistry& metrics,
                                              const std::vector<RouteDeclaration>& routes) {
  options.grpc.port = 0;
  return run(std::make_unique<HttpServer>(std::move(options), database, metrics, routes,
                                          std::span<const UnbuiltEndpoint>()));
}

}  // namespace quiver::service

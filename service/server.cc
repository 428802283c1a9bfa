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
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/observe/log.h"
#include "base/observe/log_limit.h"
#include "service/api/runtime.h"
#include "service/grpc/server.h"
#include "service/handlers/handlers.h"
#include "service/http/connection.h"
#include "service/http/front.h"
#include "service/http/listener.h"

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
      for (Connection* connection : loop_.connections) connection->tick();
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

class HttpServer final : public Server {
 public:
  HttpServer(ServerOptions options, engine::Database& database, MetricsRegistry& metrics)
      : options_(std::move(options)),
        threads_(make_threads(n_io_threads(options_))),
        runtime_(options_, database, metrics),
        front_(options_, runtime_, all_routes(), unbuilt_endpoints()),
        open_connections_(metrics.gauge(options_.metrics_prefix + "rest_open_connections",
                                        "Open HTTP connections")) {}
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
    if (options_.tls.enabled) {
      QV_TRY(auto tls, TlsContext::load(options_.tls));
      listener_.use(std::move(tls));
    }
    QV_TRY(listener_.listen(options_.host, options_.port));
    if (options_.grpc.port == 0) return {};
    GrpcOptions grpc = options_.grpc;
    if (grpc.host.empty()) grpc.host = options_.host;
    const GrpcLimits limits = {options_.max_body_bytes, options_.max_held_body_bytes,
                               options_.inline_body_bytes};
    QV_TRY(grpc_, GrpcServer::start(grpc, options_.tls, limits, runtime_, front_.body_budget()));
    return {};
  }

  void run() {
    asio::co_spawn(accept_context(), accept_connections(), asio::detached);
    for (auto& thread : threads_) thread->start();
    running_ = true;
  }

  [[nodiscard]] std::uint16_t port() const override { return listener_.port(); }
  [[nodiscard]] std::uint16_t grpc_port() const override { return grpc_ ? grpc_->port() : 0; }

  Result<> stop() override {
    if (!running_) return {};
    running_ = false;
    asio::post(accept_context(), [this] { listener_.close(); });
    for_each_connection(&Connection::stop);
    const auto grace = std::chrono::duration<double>(options_.shutdown_grace_s);
    if (grpc_) grpc_->begin_stop(grace);
    QV_TRY(stop_connections(grace));
    join_threads();
    return stop_grpc(grace);
  }

 private:
  Result<> stop_connections(std::chrono::duration<double> grace) {
    if (!wait_until_idle(grace)) {
      log_warning("http: {} connections did not finish in {:.1f} s, cancelling", n_open(),
                  grace.count());
      for_each_connection(&Connection::abort);
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

  /// `grace` has begun already.
  Result<> stop_grpc(std::chrono::duration<double> grace) {
    const auto patience = std::chrono::duration<double>(options_.cancel_patience_s);
    if (!grpc_ || grpc_->wait_until_stopped(grace + patience)) return {};
    return fail(Code::kDeadlineExceeded, "gRPC calls go on after they were cancelled");
  }

  void join_threads() {
    for (auto& thread : threads_) thread->join();
  }

  asio::io_context& accept_context() { return threads_.front()->loop().context; }

  asio::awaitable<void> accept_connections() {
    asio::steady_timer timer(accept_context());
    for (std::size_t next = 0;; next = (next + 1) % threads_.size()) {
      EventLoop& loop = threads_[next]->loop();
      Listener::Accepted accepted = co_await listener_.accept(loop.context);
      if (!listener_.is_open()) co_return;
      if (accepted.stream) {
        admit(loop, std::move(accepted.stream));
        continue;
      }
      repeated_.log(LogLevel::kWarning, "accept",
                    "http: cannot accept: " + accepted.error.message());
      timer.expires_after(kAcceptRetry);
      error_code ignored;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }

  void admit(EventLoop& loop, std::unique_ptr<Stream> stream) {
    if (n_open() >= options_.max_connections) {
      repeated_.log(LogLevel::kWarning, "turn away",
                    fmt::format("http: all {} connections (service.max_connections) are in use, "
                                "more are turned away",
                                options_.max_connections));
      return turn_away(loop, std::move(stream));
    }
    change_open(+1);
    auto connection = std::make_shared<Connection>(loop, std::move(stream), front_);
    asio::co_spawn(loop.context, Connection::serve(std::move(connection)),
                   [this](const std::exception_ptr& failure) {
                     if (failure) log_error("http: a connection ended by an exception");
                     change_open(-1);
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
    ++n_turned_away_;
    change_open(+1);
    auto connection = std::make_shared<Connection>(loop, std::move(stream), front_);
    asio::co_spawn(loop.context, Connection::turn_away(std::move(connection)),
                   [this](const std::exception_ptr&) {
                     --n_turned_away_;
                     change_open(-1);
                   });
  }

  /// Calls `action` on each loop's own thread. From then on the loop is stopping.
  void for_each_connection(void (Connection::*action)()) {
    for (auto& thread : threads_) {
      EventLoop& loop = thread->loop();
      asio::post(loop.context, [&loop, action] {
        loop.stopping = true;
        for (Connection* connection : loop.connections) (connection->*action)();
      });
    }
  }

  [[nodiscard]] std::size_t n_open() {
    MutexLock lock(mutex_);
    return n_open_;
  }
  void change_open(int by) {
    MutexLock lock(mutex_);
    n_open_ += static_cast<std::size_t>(by);
    open_connections_.set(static_cast<double>(n_open_));
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
  std::unique_ptr<GrpcServer> grpc_;
  Listener listener_{accept_context()};
  bool running_ = false;
  LogLimit repeated_;
  std::atomic<std::size_t> n_turned_away_ = 0;
  Gauge& open_connections_;

  Mutex mutex_;
  CondVar idle_;
  std::size_t n_open_ QV_GUARDED_BY(mutex_) = 0;
};

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
  auto server = std::make_unique<HttpServer>(std::move(options), database, metrics);
  QV_TRY(server->listen());
  server->run();
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace quiver::service

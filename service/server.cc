#include "service/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/bind_executor.hpp>
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
#include "service/http/connection.h"
#include "service/http/service.h"

namespace quiver::service {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kTick = std::chrono::seconds(1);
/// After an accept that failed for want of something (file handles, memory).
constexpr auto kAcceptRetry = std::chrono::milliseconds(50);

std::uint32_t n_io_threads(const ServerOptions& options) {
  if (options.io_threads > 0) return options.io_threads;
  return std::max(1U, std::thread::hardware_concurrency() / 2);
}

Error bind_error(const ServerOptions& options, const error_code& ec) {
  return Error(Code::kUnavailable,
               fmt::format("cannot listen on {}:{}: {}", options.host, options.port, ec.message()));
}

Result<tcp::endpoint> resolve(asio::io_context& context, const ServerOptions& options) {
  error_code ec;
  const auto address = asio::ip::make_address(options.host, ec);
  if (!ec) return tcp::endpoint(address, options.port);
  tcp::resolver resolver(context);
  const auto results = resolver.resolve(options.host, std::to_string(options.port), ec);
  if (ec || results.empty()) return fail(bind_error(options, ec));
  return results.begin()->endpoint();
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
      : threads_(make_threads(n_io_threads(options))),
        service_(std::move(options), database, metrics),
        open_connections_(metrics.gauge(service_.options().metrics_prefix + "rest_open_connections",
                                        "Open HTTP connections")) {}
  ~HttpServer() override {
    if (auto stopped = stop(); !stopped) log_error("http: {}", stopped.error().message());
    while (!wait_until_idle(std::chrono::hours(1))) {
    }
    join_threads();
  }

  Result<> listen() {
    QV_TRY(const auto endpoint, resolve(accept_context(), service_.options()));
    error_code ec;
    acceptor_.open(endpoint.protocol(), ec);
    if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec) acceptor_.bind(endpoint, ec);
    if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
    if (!ec) port_ = acceptor_.local_endpoint(ec).port();
    if (ec) return fail(bind_error(service_.options(), ec));
    return {};
  }

  void run() {
    asio::co_spawn(accept_context(), accept_connections(), asio::detached);
    for (auto& thread : threads_) thread->start();
    running_ = true;
  }

  [[nodiscard]] std::uint16_t port() const override { return port_; }

  Result<> stop() override {
    if (!running_) return {};
    running_ = false;
    asio::post(accept_context(), [this] {
      error_code ignored;
      acceptor_.close(ignored);
    });
    for_each_connection(&Connection::stop);
    const auto grace = std::chrono::duration<double>(service_.options().shutdown_grace_s);
    if (!wait_until_idle(grace)) {
      log_warning("http: {} connections did not finish in {:.1f} s, cancelling", n_open(),
                  grace.count());
      for_each_connection(&Connection::abort);
      // What the engine holds must come back before the loops may go.
      const auto patience = std::chrono::duration<double>(service_.options().cancel_patience_s);
      if (!wait_until_idle(patience)) {
        return fail(Code::kDeadlineExceeded,
                    fmt::format("{} requests go on, {:.1f} s after they were cancelled", n_open(),
                                patience.count()));
      }
    }
    join_threads();
    return {};
  }

 private:
  void join_threads() {
    for (auto& thread : threads_) thread->join();
  }

  asio::io_context& accept_context() { return threads_.front()->loop().context; }

  asio::awaitable<void> accept_connections() {
    asio::steady_timer timer(accept_context());
    for (std::size_t next = 0;; next = (next + 1) % threads_.size()) {
      EventLoop& loop = threads_[next]->loop();
      error_code ec;
      tcp::socket socket = co_await acceptor_.async_accept(
          loop.context, asio::redirect_error(asio::use_awaitable, ec));
      if (!acceptor_.is_open()) co_return;
      if (!ec) {
        admit(loop, std::move(socket));
        continue;
      }
      repeated_.log(LogLevel::kWarning, "accept", "http: cannot accept: " + ec.message());
      timer.expires_after(kAcceptRetry);
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }
  }

  void admit(EventLoop& loop, tcp::socket socket) {
    if (n_open() >= service_.options().max_connections) {
      repeated_.log(LogLevel::kWarning, "turn away",
                    fmt::format("http: all {} connections (service.max_connections) are in use, "
                                "more are turned away",
                                service_.options().max_connections));
      return turn_away(socket);
    }
    change_open(+1);
    auto connection = std::make_shared<Connection>(loop, std::move(socket), service_);
    asio::co_spawn(loop.context, Connection::serve(std::move(connection)),
                   [this](const std::exception_ptr& failure) {
                     if (failure) log_error("http: a connection ended by an exception");
                     change_open(-1);
                   });
  }

  static void turn_away(tcp::socket& socket) {
    static constexpr std::string_view kBody =
        R"({"status":{"error":"Shard temporarily unavailable: too many open connections"},"time":0.0})";
    const std::string answer = fmt::format(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
        "content-length: {}\r\nretry-after: 1\r\nconnection: close\r\n\r\n{}",
        kBody.size(), kBody);
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(answer), ignored);
  }

  /// `action` on each loop's own thread. From then on the loop is stopping.
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

  // The loops outlive the service: its blocking executor posts to them until it has stopped.
  std::vector<std::unique_ptr<IoThread>> threads_;
  Service service_;
  tcp::acceptor acceptor_{accept_context()};
  std::uint16_t port_ = 0;
  bool running_ = false;
  LogLimit repeated_;
  Gauge& open_connections_;

  Mutex mutex_;
  CondVar idle_;
  std::size_t n_open_ QV_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Identity compatible_identity() {
  return {.name = "qdrant",
          .title = "qdrant - vector search engine",
          .version = "1.19.0",  // clients warn unless the minor version is theirs or next to it
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

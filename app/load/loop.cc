#include "app/load/loop.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <deque>

#include "base/clock.h"

namespace quiver::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReceiveBytes = 64 << 10;
constexpr int kSilenceMs = 60000;
constexpr std::size_t kMaxErrorText = 300;

double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct InFlight {
  RequestText request;
  Clock::time_point begin;
};

/// One connection: requests that were begun, in order; the last ones may not be sent yet.
struct Connection {
  Socket socket;
  ResponseReader reader;
  std::deque<InFlight> in_flight;
  std::size_t n_sent = 0;      ///< of `in_flight`, wholly
  std::size_t sent_bytes = 0;  ///< of the one after these
  bool wants_write = false;    ///< as epoll was told
};

class Loop {
 public:
  Loop(const Endpoint& endpoint, RequestSource& source, const LoopOptions& options)
      : endpoint_(endpoint), source_(source), options_(options) {}

  Result<LoopResult> run();

 private:
  Result<> connect(Connection& connection);
  /// Everything that this connection can do now.
  Result<> serve(Connection& connection);
  void fill(Connection& connection);
  /// False when the connection is broken, here and below.
  bool send_pending(Connection& connection);
  bool receive(Connection& connection);
  bool take_responses(Connection& connection);
  Result<> reconnect(Connection& connection);
  void watch_writes(Connection& connection);
  Result<> wait_and_serve();
  void count_error(std::string text);

  const Endpoint& endpoint_;
  RequestSource& source_;
  const LoopOptions& options_;
  Socket epoll_;
  std::vector<Connection> connections_;
  LoopResult result_;
  std::size_t n_in_flight_ = 0;
  bool ended_ = false;
  bool starved_ = false;  ///< some connection waits for the source
};

void Loop::count_error(std::string text) {
  ++result_.n_errors;
  if (result_.first_error.empty()) result_.first_error = std::move(text);
}

Result<> Loop::connect(Connection& connection) {
  QV_TRY(connection.socket, connect_to(endpoint_));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &connection;
  if (epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, connection.socket.fd(), &event) != 0) {
    return fail(Code::kInternal, fmt::format("epoll_ctl: {}", std::strerror(errno)));
  }
  return {};
}

void Loop::fill(Connection& connection) {
  while (!ended_ && connection.in_flight.size() < options_.pipeline) {
    RequestText request;
    switch (source_.next(request)) {
      case RequestSource::State::kReady:
        connection.in_flight.push_back({std::move(request), Clock::now()});
        ++n_in_flight_;
        break;
      case RequestSource::State::kLater:
        starved_ = true;
        ++result_.n_starved;
        return;
      case RequestSource::State::kEnd:
        ended_ = true;
        return;
    }
  }
}

bool Loop::send_pending(Connection& connection) {
  while (connection.n_sent < connection.in_flight.size()) {
    const std::string& text = *connection.in_flight[connection.n_sent].request;
    const ssize_t n = send(connection.socket.fd(), text.data() + connection.sent_bytes,
                           text.size() - connection.sent_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    connection.sent_bytes += static_cast<std::size_t>(n);
    if (connection.sent_bytes < text.size()) continue;
    connection.sent_bytes = 0;
    ++connection.n_sent;
  }
  return true;
}

void Loop::watch_writes(Connection& connection) {
  const bool wants_write = connection.n_sent < connection.in_flight.size();
  if (wants_write == connection.wants_write) return;
  epoll_event event{};
  event.events = wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = &connection;
  epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, connection.socket.fd(), &event);
  connection.wants_write = wants_write;
}

bool Loop::take_responses(Connection& connection) {
  while (true) {
    const auto next = connection.reader.next();
    if (!next || connection.in_flight.empty()) return next && !next->has_value();
    if (!next->has_value()) return true;
    const Response& response = **next;
    const auto elapsed = Clock::now() - connection.in_flight.front().begin;
    if (response.status == 200) {
      result_.latencies_us.push_back(std::chrono::duration<double, std::micro>(elapsed).count());
    } else {
      count_error(
          fmt::format("status {}: {}", response.status, response.body.substr(0, kMaxErrorText)));
    }
    // Answered before it was sent whole (413, say): the rest of it cannot be sent any more.
    if (connection.n_sent == 0) return false;
    connection.in_flight.pop_front();
    --connection.n_sent;
    --n_in_flight_;
  }
}

bool Loop::receive(Connection& connection) {
  while (true) {
    char* space = connection.reader.reserve(kReceiveBytes);
    const ssize_t n = recv(connection.socket.fd(), space, kReceiveBytes, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (n == 0) return false;
    connection.reader.commit(static_cast<std::size_t>(n));
    if (!take_responses(connection)) return false;
    if (static_cast<std::size_t>(n) < kReceiveBytes) return true;
  }
}

Result<> Loop::reconnect(Connection& connection) {
  for (std::size_t i = 0; i < connection.in_flight.size(); ++i) {
    count_error("the server closed a connection with requests in flight");
  }
  n_in_flight_ -= connection.in_flight.size();
  connection = Connection();
  return connect(connection);
}

Result<> Loop::serve(Connection& connection) {
  if (!receive(connection)) QV_TRY(reconnect(connection));
  fill(connection);
  if (!send_pending(connection)) QV_TRY(reconnect(connection));
  watch_writes(connection);
  return {};
}

Result<> Loop::wait_and_serve() {
  std::array<epoll_event, 256> events;
  const int n = epoll_wait(epoll_.fd(), events.data(), events.size(), starved_ ? 1 : kSilenceMs);
  if (n < 0 && errno != EINTR) {
    return fail(Code::kInternal, fmt::format("epoll_wait: {}", std::strerror(errno)));
  }
  if (n == 0 && !starved_) return fail(Code::kUnavailable, "the server kept silent for a minute");
  for (int i = 0; i < n; ++i) {
    QV_TRY(serve(*static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr)));
  }
  if (!starved_) return {};
  starved_ = false;
  for (Connection& connection : connections_) {
    if (connection.in_flight.size() < options_.pipeline) QV_TRY(serve(connection));
  }
  return {};
}

Result<LoopResult> Loop::run() {
  epoll_ = Socket(epoll_create1(EPOLL_CLOEXEC));
  connections_.resize(options_.connections);
  for (Connection& connection : connections_) QV_TRY(connect(connection));
  const double cpu_before = thread_cpu_s();
  const Stopwatch watch;
  for (Connection& connection : connections_) QV_TRY(serve(connection));
  while (n_in_flight_ > 0 || !ended_) QV_TRY(wait_and_serve());
  result_.seconds = watch.seconds();
  result_.client_cpu_s = thread_cpu_s() - cpu_before;
  return std::move(result_);
}

}  // namespace

Result<LoopResult> run_loop(const Endpoint& endpoint, RequestSource& source,
                            const LoopOptions& options) {
  return Loop(endpoint, source, options).run();
}

}  // namespace quiver::app

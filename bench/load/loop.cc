#include "bench/load/loop.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <random>

#include "base/clock.h"

namespace quiver::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReceiveBytes = 64 << 10;
constexpr std::chrono::seconds kMaxSilence{60};
/// Delay before a source that returned kLater is asked again.
constexpr std::chrono::milliseconds kSourceRetryDelay{1};
constexpr std::size_t kMaxErrorText = 300;

struct CpuTime {
  double user_s = 0, system_s = 0;
};

CpuTime thread_cpu() {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

struct InFlight {
  RequestText request;
  Clock::time_point begin;
};

/// One connection, with its unanswered requests in order. The last ones may not be sent yet.
struct LoopConnection {
  client::Socket socket;
  client::ResponseReader reader;
  std::deque<InFlight> in_flight;
  std::size_t n_sent = 0;      ///< requests of `in_flight` that are sent completely
  std::size_t sent_bytes = 0;  ///< sent bytes of the request after those
  bool wants_write = false;    ///< whether epoll watches for writability
};

/// Arrival times of requests: at once in a closed loop, a Poisson process in an open one.
class Arrivals {
 public:
  Arrivals(double rate, std::uint64_t seed)
      : rate_(rate), gap_s_(rate > 0 ? rate : 1), random_(seed) {}

  [[nodiscard]] bool is_open() const { return rate_ > 0; }
  /// Arrival of the next request; `now` in a closed loop.
  [[nodiscard]] Clock::time_point next(Clock::time_point now) const {
    return is_open() ? next_ : now;
  }
  void start(Clock::time_point now) { next_ = now; }
  /// Counts the arrivals up to `end` and consumes them. Beyond the first million it uses the mean
  /// rate instead of drawing each.
  std::uint64_t count_until(Clock::time_point end) {
    constexpr std::uint64_t kMaxDrawn = 1'000'000;
    std::uint64_t n = 0;
    for (; next_ <= end && n < kMaxDrawn; ++n) advance();
    const double left_s = std::chrono::duration<double>(end - next_).count();
    return n + static_cast<std::uint64_t>(std::max(left_s, 0.0) * rate_);
  }
  void advance() {
    const std::chrono::duration<double> gap(gap_s_(random_));
    next_ += std::chrono::duration_cast<Clock::duration>(gap);
  }

 private:
  double rate_;  ///< arrivals per second; 0: closed loop
  std::exponential_distribution<double> gap_s_;
  std::mt19937_64 random_;
  Clock::time_point next_;
};

class Loop {
 public:
  Loop(const client::Endpoint& endpoint, RequestSource& source, const LoopOptions& options)
      : endpoint_(endpoint),
        source_(source),
        options_(options),
        arrivals_(options.rate, options.seed) {}

  Result<LoopResult> run();

 private:
  Result<> connect(LoopConnection& connection);
  /// Receives and sends what this connection can without blocking.
  Result<> serve(LoopConnection& connection);
  /// Takes requests up to the pipeline's depth and sends them.
  Result<> feed(LoopConnection& connection);
  void fill(LoopConnection& connection);
  /// False when the connection is broken, as are `receive` and `take_responses`.
  bool send_pending(LoopConnection& connection);
  bool receive(LoopConnection& connection);
  bool take_responses(LoopConnection& connection);
  Result<> reconnect(LoopConnection& connection);
  void watch_writes(LoopConnection& connection);
  Result<> wait_and_serve();
  /// Gives arrived requests to connections with room in their pipeline.
  Result<> serve_idle();
  [[nodiscard]] Clock::duration time_to_wait() const;
  [[nodiscard]] bool has_room() const {
    return n_in_flight_ < connections_.size() * options_.pipeline;
  }
  void count_error(std::string text);

  const client::Endpoint& endpoint_;
  RequestSource& source_;
  const LoopOptions& options_;
  Arrivals arrivals_;
  client::Socket epoll_;
  std::vector<LoopConnection> connections_;
  std::size_t next_idle_ = 0;  ///< round robin: next connection to try
  Clock::time_point last_answer_;
  LoopResult result_;
  std::size_t n_in_flight_ = 0;
  bool ended_ = false;
  std::optional<Clock::time_point> out_of_time_at_;
  bool starved_ = false;  ///< a connection waits for the source
};

void Loop::count_error(std::string text) {
  ++result_.n_errors;
  if (result_.first_error.empty()) result_.first_error = std::move(text);
}

Result<> Loop::connect(LoopConnection& connection) {
  QV_TRY(connection.socket, client::connect_to(endpoint_));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &connection;
  if (epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, connection.socket.fd(), &event) != 0) {
    return fail(Code::kInternal, fmt::format("epoll_ctl: {}", std::strerror(errno)));
  }
  return {};
}

void Loop::fill(LoopConnection& connection) {
  while (!ended_ && connection.in_flight.size() < options_.pipeline) {
    const auto now = Clock::now();
    const auto arrival = arrivals_.next(now);
    if (arrival > now) return;
    RequestText request;
    switch (source_.next(request)) {
      case RequestSource::State::kReady:
        connection.in_flight.push_back({std::move(request), arrival});
        ++n_in_flight_;
        break;
      case RequestSource::State::kLater:
        starved_ = true;
        ++result_.n_starved;
        return;
      case RequestSource::State::kOutOfTime:
        out_of_time_at_ = now;
        [[fallthrough]];
      case RequestSource::State::kEnd:
        ended_ = true;
        return;
    }
    if (!arrivals_.is_open()) continue;
    result_.waits_us.push_back(std::chrono::duration<double, std::micro>(now - arrival).count());
    arrivals_.advance();
  }
}

bool Loop::send_pending(LoopConnection& connection) {
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

void Loop::watch_writes(LoopConnection& connection) {
  const bool wants_write = connection.n_sent < connection.in_flight.size();
  if (wants_write == connection.wants_write) return;
  epoll_event event{};
  event.events = wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = &connection;
  epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, connection.socket.fd(), &event);
  connection.wants_write = wants_write;
}

bool Loop::take_responses(LoopConnection& connection) {
  while (true) {
    const auto next = connection.reader.next();
    if (!next || connection.in_flight.empty()) return next && !next->has_value();
    if (!next->has_value()) return true;
    const client::ResponseView& response = **next;
    const auto elapsed = Clock::now() - connection.in_flight.front().begin;
    if (response.status == 200) {
      result_.latencies_us.push_back(std::chrono::duration<double, std::micro>(elapsed).count());
    } else {
      count_error(
          fmt::format("status {}: {}", response.status, response.body.substr(0, kMaxErrorText)));
    }
    // Answered before it was sent completely (413, say): the rest can no longer be sent.
    if (connection.n_sent == 0) return false;
    connection.in_flight.pop_front();
    --connection.n_sent;
    --n_in_flight_;
  }
}

bool Loop::receive(LoopConnection& connection) {
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

Result<> Loop::reconnect(LoopConnection& connection) {
  for (std::size_t i = 0; i < connection.in_flight.size(); ++i) {
    count_error("the server closed a connection with requests in flight");
  }
  n_in_flight_ -= connection.in_flight.size();
  connection = LoopConnection();
  return connect(connection);
}

Result<> Loop::serve(LoopConnection& connection) {
  if (!receive(connection)) QV_TRY(reconnect(connection));
  return feed(connection);
}

Result<> Loop::feed(LoopConnection& connection) {
  fill(connection);
  if (!send_pending(connection)) QV_TRY(reconnect(connection));
  watch_writes(connection);
  return {};
}

Clock::duration Loop::time_to_wait() const {
  const auto now = Clock::now();
  Clock::duration wait = last_answer_ + kMaxSilence - now;
  if (starved_) wait = std::min<Clock::duration>(wait, kSourceRetryDelay);
  if (arrivals_.is_open() && !ended_ && has_room())
    wait = std::min(wait, arrivals_.next(now) - now);
  return std::max(wait, Clock::duration::zero());
}

Result<> Loop::serve_idle() {
  starved_ = false;
  // An overloaded server leaves no connection with room. `has_room` then ends the loop at once, so
  // the generator uses no more CPU than in a closed loop.
  for (std::size_t i = 0; i < connections_.size() && has_room(); ++i) {
    if (ended_ || starved_ || arrivals_.next(Clock::time_point::min()) > Clock::now()) return {};
    LoopConnection& connection = connections_[next_idle_++ % connections_.size()];
    if (connection.in_flight.size() < options_.pipeline) QV_TRY(feed(connection));
  }
  return {};
}

Result<> Loop::wait_and_serve() {
  std::array<epoll_event, 256> events;
  const auto wait = std::chrono::nanoseconds(time_to_wait()).count();
  const timespec timeout{.tv_sec = wait / 1'000'000'000, .tv_nsec = wait % 1'000'000'000};
  const int n = epoll_pwait2(epoll_.fd(), events.data(), events.size(), &timeout, nullptr);
  if (n < 0 && errno != EINTR) {
    return fail(Code::kInternal, fmt::format("epoll_pwait2: {}", std::strerror(errno)));
  }
  if (n > 0 || n_in_flight_ == 0) last_answer_ = Clock::now();
  if (Clock::now() - last_answer_ >= kMaxSilence) {
    return fail(Code::kUnavailable, "the server sent nothing for a minute");
  }
  for (int i = 0; i < n; ++i) {
    QV_TRY(serve(*static_cast<LoopConnection*>(events[static_cast<std::size_t>(i)].data.ptr)));
  }
  return starved_ || arrivals_.is_open() ? serve_idle() : Result<>();
}

Result<LoopResult> Loop::run() {
  // The default timer slack would end sleeps up to 50 us late.
  if (arrivals_.is_open()) prctl(PR_SET_TIMERSLACK, 1UL);
  epoll_ = client::Socket(epoll_create1(EPOLL_CLOEXEC));
  connections_.resize(options_.connections);
  for (LoopConnection& connection : connections_) QV_TRY(connect(connection));
  const CpuTime before = thread_cpu();
  const Stopwatch watch;
  last_answer_ = Clock::now();
  arrivals_.start(last_answer_);
  for (LoopConnection& connection : connections_) QV_TRY(feed(connection));
  while (n_in_flight_ > 0 || !ended_) QV_TRY(wait_and_serve());
  result_.seconds = watch.seconds();
  const CpuTime after = thread_cpu();
  result_.client_user_s = after.user_s - before.user_s;
  result_.client_cpu_s = result_.client_user_s + after.system_s - before.system_s;
  const bool may_be_unsent = arrivals_.is_open() && out_of_time_at_.has_value();
  if (may_be_unsent) result_.n_unsent = arrivals_.count_until(*out_of_time_at_);
  return std::move(result_);
}

}  // namespace

Result<LoopResult> run_loop(const client::Endpoint& endpoint, RequestSource& source,
                            const LoopOptions& options) {
  return Loop(endpoint, source, options).run();
}

}  // namespace quiver::bench

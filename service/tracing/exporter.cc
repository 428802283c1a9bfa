#include "service/tracing/exporter.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"

namespace quiver::service::tracing {
namespace {

/// As OpenTelemetry's libraries have it.
constexpr std::size_t kSpansPerPost = 512;
// Those of the policy for retries of OpenTelemetry's libraries.
constexpr int kMaxAttempts = 5;
constexpr std::chrono::duration<double> kFirstPause{1};
constexpr std::chrono::duration<double> kMaxPause{5};
constexpr double kPauseGrowth = 1.5;
constexpr double kJitter = 0.2;
constexpr auto kStopTime = std::chrono::seconds(1);

std::chrono::nanoseconds to_nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

/// Grows with each attempt. Servers that failed together shall not come back together.
std::chrono::nanoseconds pause_after(int attempt, std::chrono::seconds at_least) {
  thread_local std::minstd_rand generator{std::random_device()()};
  double pause = kFirstPause.count();
  for (int i = 1; i < attempt; ++i) pause *= kPauseGrowth;
  pause = std::min(pause, kMaxPause.count());
  pause *= std::uniform_real_distribution<double>(1 - kJitter, 1 + kJitter)(generator);
  return std::max(to_nanoseconds(pause), std::chrono::nanoseconds(at_least));
}

Counter& dropped(MetricsRegistry& registry, const std::string& prefix, const char* reason) {
  return registry.counter(prefix + "tracing_spans_dropped_total",
                          "Spans that did not reach the collector", {{"reason", reason}});
}

}  // namespace

TracingMetrics::TracingMetrics(MetricsRegistry& registry, const std::string& prefix)
    : exported(registry.counter(prefix + "tracing_spans_exported_total",
                                "Spans that the collector has taken")),
      no_room(dropped(registry, prefix, "queue_full")),
      not_sent(dropped(registry, prefix, "not_sent")),
      failed_posts(registry.counter(prefix + "tracing_posts_failed_total",
                                    "Requests to the collector that failed")) {}

Exporter::Exporter(const TracingOptions& options, const Collector& collector,
                   const Headers& headers, Resource resource, SpanQueue& queue,
                   TracingMetrics& metrics)
    : url_(options.endpoint),
      timeout_(to_nanoseconds(options.timeout_s)),
      interval_(to_nanoseconds(options.interval_s)),
      resource_(std::move(resource)),
      queue_(queue),
      metrics_(metrics),
      client_(collector, headers),
      thread_([this] { run(); }) {}

void Exporter::stop() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    stop_at_ = Clock::now() + kStopTime;
  }
  queue_.close();
  {
    MutexLock lock(mutex_);
    while (!has_ended_) {
      const auto left = stop_at_ - Clock::now();
      if (left <= left.zero()) break;
      ended_.wait_for(mutex_, left);
    }
  }
  client_.interrupt();
  thread_.join();
}

void Exporter::run() {
  pthread_setname_np(pthread_self(), "trace-export");
  for (;;) {
    bool is_over = false;
    run_logged("tracing", [&] {
      const SpanBatch batch = queue_.take(kSpansPerPost, interval_);
      is_over = batch.empty() && queue_.is_closed_within(std::chrono::nanoseconds(0));
      if (!batch.empty()) send(batch);
    });
    if (is_over) break;
  }
  MutexLock lock(mutex_);
  has_ended_ = true;
  ended_.notify_all();
}

void Exporter::send(const SpanBatch& batch) {
  const std::size_t n = n_spans(batch);
  if (!try_to_send(batch, n)) metrics_.not_sent.add(n);
}

/// Repeats what may succeed later. When the server ends, pauses end, and one more attempt is made.
bool Exporter::try_to_send(const SpanBatch& batch, std::size_t n) {
  const std::string body = encode_spans(resource_, batch);
  bool is_last = false;
  for (int attempt = 1;; ++attempt) {
    const auto until = deadline();
    if (until <= Clock::now()) return false;
    const PostOutcome outcome = client_.post(body, until);
    if (outcome.is_taken) {
      count_taken(n, outcome.n_rejected);
      return true;
    }
    metrics_.failed_posts.add();
    note_failure(outcome.reason);
    if (!outcome.may_be_repeated || is_last || attempt == kMaxAttempts) return false;
    is_last = queue_.is_closed_within(pause_after(attempt, outcome.retry_after));
  }
}

void Exporter::count_taken(std::size_t n, std::uint64_t n_rejected) {
  const std::uint64_t n_lost = std::min<std::uint64_t>(n_rejected, n);
  metrics_.exported.add(n - n_lost);
  metrics_.not_sent.add(n_lost);
  note_success();
}

Exporter::Clock::time_point Exporter::deadline() {
  MutexLock lock(mutex_);
  return std::min(Clock::now() + timeout_, stop_at_);
}

void Exporter::note_failure(const std::string& reason) {
  if (std::exchange(is_failing_, true)) return;
  n_lost_before_ = metrics_.no_room.value() + metrics_.not_sent.value();
  log_warning("tracing: spans do not reach {}: {}; they are dropped if this lasts", url_, reason);
}

void Exporter::note_success() {
  if (!std::exchange(is_failing_, false)) return;
  log_info("tracing: spans reach {} again, {} were dropped", url_,
           metrics_.no_room.value() + metrics_.not_sent.value() - n_lost_before_);
}

}  // namespace quiver::service::tracing

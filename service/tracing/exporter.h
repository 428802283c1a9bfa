// The thread that sends spans to the collector.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/observe/metrics.h"
#include "service/tracing/collector_client.h"
#include "service/tracing/options.h"
#include "service/tracing/otlp.h"
#include "service/tracing/span_queue.h"

namespace quiver::service::tracing {

/// The metrics of traces.
struct TracingMetrics {
  TracingMetrics(MetricsRegistry& registry, const std::string& prefix);

  Counter& exported;      ///< spans
  Counter& no_room;       ///< spans that found the queue full
  Counter& not_sent;      ///< spans that the collector did not take, however often they were sent
  Counter& failed_posts;  ///< attempts
};

/// Takes batches from the queue until it is closed. A post that fails and may succeed later is
/// repeated a few times, with growing pauses; then its spans are dropped. The log has a line when
/// posts begin to fail, and one when they succeed again.
class Exporter {
 public:
  /// References outlive this. The thread starts.
  Exporter(const TracingOptions& options, const Collector& collector, const Headers& headers,
           Resource resource, SpanQueue& queue, TracingMetrics& metrics);
  ~Exporter() { stop(); }

  /// Sends what is in the queue, for a second at most, and ends the thread. A connection that is
  /// being made may take two seconds more.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void send(const SpanBatch& batch);
  /// True if the collector took the batch.
  [[nodiscard]] bool try_to_send(const SpanBatch& batch, std::size_t n);
  /// `n_rejected` of the `n` spans of a batch were not taken.
  void count_taken(std::size_t n, std::uint64_t n_rejected);
  void note_failure(const std::string& reason);
  void note_success();
  /// When a post that begins now must end.
  [[nodiscard]] Clock::time_point deadline() QV_EXCLUDES(mutex_);

  const std::string url_;
  const std::chrono::nanoseconds timeout_;
  const std::chrono::nanoseconds interval_;
  const Resource resource_;
  SpanQueue& queue_;
  TracingMetrics& metrics_;
  CollectorClient client_;
  bool is_failing_ = false;          ///< the thread's
  std::uint64_t n_lost_before_ = 0;  ///< the thread's: spans lost when posts began to fail

  Mutex mutex_;
  CondVar ended_;
  Clock::time_point stop_at_ QV_GUARDED_BY(mutex_) = Clock::time_point::max();
  bool has_ended_ QV_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace quiver::service::tracing

// Traces of requests, sent to a collector of OpenTelemetry (docs/observability.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/observe/metrics.h"
#include "base/result.h"
#include "service/tracing/exporter.h"
#include "service/tracing/options.h"
#include "service/tracing/span_queue.h"

namespace quiver::service::tracing {

/// The share of traces that are sampled, decided by their ids, so that all who see a trace and know
/// the share decide alike.
class Sampler {
 public:
  /// `ratio`: 0 to 1.
  explicit Sampler(double ratio);
  [[nodiscard]] bool samples(const TraceId& id) const;

 private:
  std::uint64_t first_;  ///< sampled if the last 56 bits are at least this
};

/// Thread-safe.
class Tracer {
 public:
  /// Starts the thread that sends. `options.is_on()`. kInvalidArgument if the endpoint is no URL or
  /// the headers are none. `registry` outlives this.
  [[nodiscard]] static Result<std::unique_ptr<Tracer>> start(const TracingOptions& options,
                                                             Resource resource,
                                                             MetricsRegistry& registry,
                                                             const std::string& metrics_prefix);

  [[nodiscard]] bool samples(const TraceId& id) const { return sampler_.samples(id); }
  /// Queues a finished request, or drops and counts it. Does not wait.
  void add(RequestSpan span);
  /// Sends what is queued, for about a second at most. Later spans are dropped.
  void stop() { exporter_.stop(); }

 private:
  Tracer(const TracingOptions& options, const Collector& collector, const Headers& headers,
         Resource resource, MetricsRegistry& registry, const std::string& metrics_prefix);

  const Sampler sampler_;
  TracingMetrics metrics_;
  SpanQueue queue_;
  Exporter exporter_;
};

/// The name of this machine; "" if the system does not say.
[[nodiscard]] std::string host_name();

}  // namespace quiver::service::tracing

#include "service/tracing/tracer.h"

#include <unistd.h>

#include <array>
#include <cmath>
#include <utility>

namespace quiver::service::tracing {
namespace {

constexpr std::uint64_t kRandomBits = std::uint64_t{1} << 56;

}  // namespace

Sampler::Sampler(double ratio)
    : first_(static_cast<std::uint64_t>(
          std::llround((1 - ratio) * static_cast<double>(kRandomBits)))) {}

bool Sampler::samples(const TraceId& id) const { return (id.low & (kRandomBits - 1)) >= first_; }

Result<std::unique_ptr<Tracer>> Tracer::start(const TracingOptions& options, Resource resource,
                                              MetricsRegistry& registry,
                                              const std::string& metrics_prefix) {
  QV_TRY(Collector collector, parse_collector(options.endpoint));
  QV_TRY(const Headers headers, parse_headers(options.headers));
  collector.server.ca_file = options.ca_cert;
  return std::unique_ptr<Tracer>(
      new Tracer(options, collector, headers, std::move(resource), registry, metrics_prefix));
}

Tracer::Tracer(const TracingOptions& options, const Collector& collector, const Headers& headers,
               Resource resource, MetricsRegistry& registry, const std::string& metrics_prefix)
    : sampler_(options.sample_ratio),
      metrics_(registry, metrics_prefix),
      queue_(options.max_queued_spans),
      exporter_(options, collector, headers, std::move(resource), queue_, metrics_) {}

void Tracer::add(RequestSpan span) {
  const std::size_t n = span.n_spans();
  if (!queue_.add(std::move(span))) metrics_.no_room.add(n);
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

}  // namespace quiver::service::tracing

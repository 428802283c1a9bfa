#include "service/api/runtime.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "gpu/dense_job.h"
#include "gpu/devices.h"

namespace quiver::service::api {
namespace {

constexpr std::size_t kBlockingThreads = 2;
constexpr std::size_t kWaitingThreads = 32;

/// Version 4 of RFC 9562.
std::string random_uuid() {
  std::random_device device;
  const auto bits = [&] { return std::uint64_t{device()} << 32 | device(); };
  constexpr std::uint64_t kVersion = 0xF000;
  constexpr std::uint64_t kVariant = 0xC000'0000'0000'0000;
  const std::uint64_t high = (bits() & ~kVersion) | 0x4000;
  const std::uint64_t low = (bits() & ~kVariant) | 0x8000'0000'0000'0000;
  return PointId::uuid(high, low).to_string();
}

static_assert(engine::QueryCost::kMostOnDevice == gpu::kMaxQueries);

std::size_t n_lanes(const Options& options) {
  return options.devices == nullptr ? 1 : std::max<std::size_t>(1, options.devices->n_lanes());
}

}  // namespace

Runtime::Runtime(Options options, engine::Database& database, MetricsRegistry& metrics)
    : options_(std::move(options)),
      keys_(options_),
      database_(database),
      metrics_(metrics),
      process_id_(random_uuid()),
      started_at_ms_(unix_time_ms()),
      quota_(options_.data_dir),
      load_(database.compute(), database.expensive(), metrics, options_.max_wait_ms,
            options_.metrics_prefix),
      batcher_(std::make_shared<engine::Batcher>(database.compute(), n_lanes(options_))),
      expensive_batcher_(
          std::make_shared<engine::Batcher>(database.expensive(), n_lanes(options_))),
      blocking_(kBlockingThreads, "http-block"),
      reporting_(1, "http-tell"),
      long_running_(kBlockingThreads, "http-long") {
  if (options_.cluster.node != nullptr) waiting_.emplace(kWaitingThreads, "http-wait");
  metrics
      .gauge(options_.metrics_prefix + "app_info",
             "information about " + options_.identity.name + " server",
             {{"name", options_.identity.name}, {"version", options_.identity.version}})
      .set(1);
}

}  // namespace quiver::service::api

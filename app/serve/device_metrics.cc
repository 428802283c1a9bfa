#include "app/serve/device_metrics.h"

#include <algorithm>
#include <string>

namespace quiver::app {
namespace {

void add_device(const gpu::DeviceReport& device, MetricsText& text) {
  const std::string number = std::to_string(device.number);
  const auto add = [&](std::string_view name, std::string_view help, MetricType type,
                       double value) {
    text.sample(name, help, type, {{"device", number}}, value);
  };
  const auto add_memory = [&](const char* kind, std::uint64_t bytes) {
    text.sample("gpu_memory_bytes", "Memory of the device for rows", MetricType::kGauge,
                {{"device", number}, {"kind", kind}}, static_cast<double>(bytes));
  };
  const auto add_jobs = [&](const char* result, std::uint64_t n) {
    text.sample("gpu_jobs_total", "Jobs of the device", MetricType::kCounter,
                {{"device", number}, {"result", result}}, static_cast<double>(n));
  };
  add("gpu_up", "1 if the device is used, 0 if it is lost", MetricType::kGauge,
      device.is_lost ? 0 : 1);
  add_memory("resident", device.resident_bytes);
  add_memory("free", device.memory_bytes - std::min(device.memory_bytes, device.resident_bytes));
  add("gpu_resident_parts", "Fields of segments on the device", MetricType::kGauge,
      static_cast<double>(device.n_parts));
  add("gpu_uploads_bytes_total", "Bytes copied to the device", MetricType::kCounter,
      static_cast<double>(device.n_uploaded_bytes));
  add_jobs("done", device.n_done);
  add_jobs("failed", device.n_failed);
  add("gpu_queries_total", "Queries of jobs that were done, by segment", MetricType::kCounter,
      static_cast<double>(device.n_queries));
  add("gpu_checks_total", "Queries of the device that the CPU answered, too", MetricType::kCounter,
      static_cast<double>(device.n_checked));
  add("gpu_check_differences_total", "Checks that found a best row that was not named",
      MetricType::kCounter, static_cast<double>(device.n_different));
  add("gpu_busy_seconds_total", "Time of jobs, over all streams", MetricType::kCounter,
      device.busy_s);
}

}  // namespace

void collect_device_metrics(const gpu::Report& report, MetricsText& text) {
  for (const auto& device : report.devices) add_device(device, text);
  if (report.devices.empty()) return;
  text.sample("gpu_evictions_total", "Fields of segments that gave way to others on devices",
              MetricType::kCounter, {}, static_cast<double>(report.n_evictions));
  for (std::size_t i = 0; i < report.fallbacks.size(); ++i) {
    text.sample("gpu_fallbacks_total", "Queries that the CPU answered in place of a device",
                MetricType::kCounter, {{"reason", std::string(gpu::kFallbackNames[i])}},
                static_cast<double>(report.fallbacks[i]));
  }
}

}  // namespace quiver::app

// Devices that searches use.
#include "service/api/devices.h"

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"

namespace quiver::service {
namespace {

void write_device(json::Writer& out, const gpu::DeviceReport& device) {
  out.begin_object();
  out.member("number", static_cast<std::uint64_t>(device.number));
  out.member("name", std::string_view(device.name));
  out.member("products", std::string_view(device.products));
  out.member("status", device.is_lost ? "lost" : "up");
  out.member("memory_bytes", device.memory_bytes);
  out.member("resident_bytes", device.resident_bytes);
  out.member("resident_parts", device.n_parts);
  out.member("uploaded_bytes", device.n_uploaded_bytes);
  out.member("jobs", device.n_done);
  out.member("failed_jobs", device.n_failed);
  out.member("queries", device.n_queries);
  out.member("busy_seconds", device.busy_s);
  out.member("checked_queries", device.n_checked);
  out.member("different_queries", device.n_different);
  out.end_object();
}

Decoded<> write_devices(Exchange& x, const gpu::Report& report) {
  auto out = x.begin_result();
  out.begin_object();
  out.member("reason", std::string_view(report.reason));
  out.member("module", std::string_view(report.module));
  out.member("build", std::string_view(report.build));
  out.key("devices");
  out.begin_array();
  for (const auto& device : report.devices) write_device(out, device);
  out.end_array();
  out.member("evictions", report.n_evictions);
  out.key("fallbacks");
  out.begin_object();
  for (std::size_t i = 0; i < report.fallbacks.size(); ++i) {
    out.member(gpu::kFallbackNames[i], report.fallbacks[i]);
  }
  out.end_object();
  out.end_object();
  x.end_result();
  return {};
}

Decoded<Answer> answer_devices(Exchange& x) {
  api::devices(x, answer_by<gpu::Report>(x, write_devices));
  return Answer::kLater;
}

}  // namespace

void add_device_routes(Routes& routes) {
  routes.push_back({Method::kGet, "/v1/gpu", Access::kGlobalRead, answer_devices});
}

}  // namespace quiver::service

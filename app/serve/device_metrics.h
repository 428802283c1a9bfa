// Metrics of devices that searches use.
#pragma once

#include "base/observe/metrics.h"
#include "gpu/devices.h"

namespace quiver::app {

/// Samples of each device, and the queries that the CPU answered in their place, by reason. Nothing
/// without a device.
void collect_device_metrics(const gpu::Report& report, MetricsText& text);

}  // namespace quiver::app

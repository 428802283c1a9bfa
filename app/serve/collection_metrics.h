// Metrics of the open collections, for /metrics.
#pragma once

#include "base/observe/metrics.h"
#include "engine/database.h"

namespace quiver::app {

/// Adds the metrics of every open collection; opens none. Thread-safe.
void collect_collection_metrics(const engine::Database& database, MetricsText& text);

}  // namespace quiver::app

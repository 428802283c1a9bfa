// Verbs about recall: what was measured, and measuring it.
#pragma once

#include <vector>

#include "engine/model/recall.h"
#include "service/api/collections.h"

namespace quiver::service::api {

/// Measures, then stores the table with the collection's configuration. Wants the right to manage
/// the collection. Takes seconds, at most until the timeout.
void calibrate_recall(Call& call, const OpenCollection& target, engine::RecallRequest request,
                      Done<engine::RecallTable> done);

/// Of all fields that have a table or were asked for a recall.
[[nodiscard]] std::vector<engine::RecallStatus> recall_statuses(const OpenCollection& target);

}  // namespace quiver::service::api

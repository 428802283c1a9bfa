// Writes private sums as JSON.
#pragma once

#include <span>

#include "engine/model/private_sums.h"
#include "service/json/writer.h"

namespace quiver::service::json {

/// {budget, spent, releases}
void write_privacy_report(Writer& out, const engine::PrivacyReport& report);
/// {name, state, request, epsilon, delta, created_at, features, count, count_deviation,
/// noise_deviation}
void write_private_sum(Writer& out, const engine::ReleaseDetails& details);
/// {estimates: [{sum, deviation, mean, mean_deviation}]}
void write_private_estimates(Writer& out, std::span<const engine::PrivateEstimate> estimates);

}  // namespace quiver::service::json

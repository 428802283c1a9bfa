// `quiver rescue`: a new data directory from what can be read of a damaged one.
#pragma once

#include <string>

#include "app/rescue/options.h"
#include "base/result.h"
#include "engine/files/rescue.h"

namespace quiver::app {

/// Prints a line for each shard and each loss. kDataLoss if something is lost.
[[nodiscard]] Result<> run_rescue(const RescueOptions& options);

[[nodiscard]] std::string rescue_text(const engine::RescueReport& report);
[[nodiscard]] std::string rescue_json(const engine::RescueReport& report);

}  // namespace quiver::app

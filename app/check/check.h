// `quiver check` and `quiver repair`: find damage in a data directory, rebuild a damaged
// collection.
#pragma once

#include <string>

#include "app/check/options.h"
#include "base/result.h"
#include "engine/files/findings.h"
#include "engine/model/repair_report.h"

namespace quiver::app {

/// Prints a line for each shard and each finding. kDataLoss if there is damage.
[[nodiscard]] Result<> run_check(const CheckOptions& options);
/// Prints the sources of the recovered points, what is lost, and where the old files are kept.
[[nodiscard]] Result<> run_repair(const RepairOptions& options);

[[nodiscard]] std::string report_text(const engine::CheckReport& report);
[[nodiscard]] std::string report_json(const engine::CheckReport& report);
/// The printed lines of one shard.
[[nodiscard]] std::string repair_text(const std::string& shard, const engine::ShardRepair& repair);

}  // namespace quiver::app

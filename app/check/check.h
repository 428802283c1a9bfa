// What is wrong in a data directory, and how a damaged collection is put together again.
#pragma once

#include <string>

#include "app/check/options.h"
#include "base/result.h"
#include "engine/model/repair_report.h"

namespace quiver::app {

/// Prints a line for each shard and each problem. kDataLoss if there is any.
[[nodiscard]] Result<> run_check(const CheckOptions& options);
/// Prints what was taken from where, what is lost, and where the old files are.
[[nodiscard]] Result<> run_repair(const RepairOptions& options);

/// The lines of one shard.
[[nodiscard]] std::string findings_text(const std::string& shard,
                                        const engine::ShardFindings& findings);
[[nodiscard]] std::string repair_text(const std::string& shard, const engine::ShardRepair& repair);

}  // namespace quiver::app
